#pragma once
// The agent's configuration as it lies in files now: read, put together with the flags and the
// environment the process was started with, parsed. Nothing is kept between reads.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "config/load.h"

namespace tranche::agent {

class ConfigSource {
 public:
  // `sources`: flags and environment; its file fields are filled here.
  // `file`: --config-file, a file or a folder, "" = none; `name`: --config-name.
  ConfigSource(config::Sources sources, std::string file, std::string name)
      : sources_(std::move(sources)), file_(std::move(file)), name_(std::move(name)) {}

  Result<config::Loaded> read() const;
  // What is logged when the program cannot start because of `error`, which read() or a check of
  // what it gave returned.
  std::string startup_failure(const Error& error) const;
  // What to watch to see every change that read() could see; empty without a file.
  std::vector<std::filesystem::path> watch_paths() const;

 private:
  config::Sources sources_;
  std::string file_;
  std::string name_;
  FsRoot fs_;
};

}  // namespace tranche::agent
