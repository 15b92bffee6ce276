#include "cdi/writer.h"

#include <algorithm>

namespace tranche::cdi {

Result<Written> write_specs(const FsRoot& fs, const std::filesystem::path& folder,
                            std::span<const SpecFile> files) {
  TRY(fs.make_directories(folder));
  Written written;
  for (const auto& file : files) {
    const auto there = fs.read(folder / file.name);
    if (there && *there == file.json) continue;
    TRY(fs.write_atomic(folder / file.name, file.json));
    written.changed.push_back(file.name);
  }
  for (const auto class_name : classes()) {
    const auto name = spec_file_name(class_name);
    if (std::ranges::find(files, name, &SpecFile::name) != files.end()) continue;
    if (!fs.exists(folder / name)) continue;
    TRY(fs.remove(folder / name));
    written.removed.push_back(name);
  }
  return written;
}

}  // namespace tranche::cdi
