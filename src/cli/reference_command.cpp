#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/fs.h"
#include "cli/command.h"
#include "config/programs/reference.h"
#include "labels/reference.h"

namespace tranche::cli {

int run_reference_command(const Invocation& invocation) {
  if (invocation.arguments.size() != 1) {
    fmt::print(stderr, "{}: name the folder to write to, such as docs/reference\n",
               invocation.program);
    return 2;
  }
  const auto folder = std::filesystem::absolute(invocation.arguments[0]);
  const FsRoot fs;
  const std::pair<const char*, std::string> pages[] = {

      {"flags.md", config::reference_flags()},
      {"environment.md", config::reference_environment()},
      {"config-file.md", config::reference_config_file()},
      {"labels.md", labels::render_reference()},
  };
  for (const auto& [name, text] : pages) {
    if (const auto written = fs.write_atomic(folder / name, text); !written) {
      fmt::print(stderr, "{}: {}\n", invocation.program, written.error().message());
      return 1;
    }
    fmt::print("wrote {}\n", (folder / name).string());
  }
  return 0;
}

}  // namespace tranche::cli
