#include "agent/config/config_source.h"

#include <fmt/format.h>

#include "base/checksum.h"
#include "config/file/source.h"

namespace tranche::agent {

std::string content_word(std::string_view text) {
  return fmt::format("content {:08x}", checksum(text) & 0xffffffffU);
}

Result<config::Loaded> FileSource::read() {
  if (file_.empty()) return config::load(sources_);
  ASSIGN_OR_RETURN(auto text, reader_.read(fs_, file_, name_, *clock_));
  auto sources = sources_;
  sources.file_text = std::move(text.text);
  sources.file_name = std::move(text.name);
  origin_ = fmt::format("{}, {}", sources.file_name, content_word(*sources.file_text));
  return config::load(sources);
}

std::optional<std::chrono::milliseconds> FileSource::retry_after() const {
  if (!reader_.rewriting()) return std::nullopt;
  return config::SettledReader::kQuiet;
}

std::string FileSource::startup_failure(const Error& error) const {
  auto sources = sources_;
  if (!file_.empty()) {
    const auto found = config::find_config(fs_, file_, name_);
    if (found) sources.file_name = fs_.resolve(found->path).string();
  }
  return config::startup_failure(sources, error);
}

std::vector<std::filesystem::path> FileSource::watch_paths() const {
  if (file_.empty()) return {};
  return config::config_watch_paths(fs_, file_, name_);
}

}  // namespace tranche::agent
