#pragma once
// Where the agent's configuration comes from, as it is now: read, put together with the flags and
// the environment the process was started with, parsed. Used from one thread, the agent's loop.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "config/file/load.h"

namespace tranche::agent {

class ConfigSource {
 public:
  virtual ~ConfigSource() = default;

  // kUnavailable: it cannot be known now, and what is in force is not to be touched.
  // kAlreadyExists: someone else is to serve this node; an agent that starts does not.
  virtual Result<config::Loaded> read() = 0;
  // Where what read() gave last came from, for people: "ConfigMap kube-system/x, key l20 (...)".
  virtual std::string origin() const = 0;
  // What read() gave last is in force.
  virtual void accepted() {}
  // What was in force before this process started. kNotFound: nothing was kept.
  virtual Result<config::Loaded> last_good() { return fail(Code::kNotFound, "nothing was kept"); }
  // Files to watch to see every change that read() could see.
  virtual std::vector<std::filesystem::path> watch_paths() const { return {}; }
};

// A file, or one of a folder's.
class FileSource final : public ConfigSource {
 public:
  // `sources`: flags and environment; its file fields are filled here.
  // `file`: --config-file, a file or a folder, "" = none; `name`: --config-name.
  FileSource(config::Sources sources, std::string file, std::string name)
      : sources_(std::move(sources)), file_(std::move(file)), name_(std::move(name)) {}

  Result<config::Loaded> read() override;
  std::string origin() const override { return file_.empty() ? "flags alone" : origin_; }
  std::vector<std::filesystem::path> watch_paths() const override;
  // What is logged when the program cannot start because of `error`, which read() or a check of
  // what it gave returned.
  std::string startup_failure(const Error& error) const;

 private:
  config::Sources sources_;
  std::string file_;
  std::string name_;
  std::string origin_;
  FsRoot fs_;
};

}  // namespace tranche::agent
