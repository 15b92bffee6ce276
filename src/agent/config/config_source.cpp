#include "agent/config/config_source.h"

#include "config/file/source.h"

namespace tranche::agent {

Result<config::Loaded> FileSource::read() {
  auto sources = sources_;
  if (!file_.empty()) {
    ASSIGN_OR_RETURN(auto text, config::read_config(fs_, file_, name_));
    sources.file_text = std::move(text.text);
    sources.file_name = std::move(text.name);
    origin_ = sources.file_name;
  }
  return config::load(sources);
}

std::string FileSource::startup_failure(const Error& error) const {
  auto sources = sources_;
  if (!file_.empty()) {
    if (const auto text = config::read_config(fs_, file_, name_)) sources.file_name = text->name;
  }
  return config::startup_failure(sources, error);
}

std::vector<std::filesystem::path> FileSource::watch_paths() const {
  if (file_.empty()) return {};
  return config::config_watch_paths(fs_, file_, name_);
}

}  // namespace tranche::agent
