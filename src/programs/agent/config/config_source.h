#pragma once
// Where the agent's configuration comes from. The source reads it, merges it with the process's
// flags and environment, and parses it. Used by the agent's loop.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/config/config_standing.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"
#include "config/file/load.h"
#include "config/file/settled_reader.h"

namespace tranche::agent {

// A word that differs for different content, so that people can compare messages: "content
// 1a2b3c4d".
std::string content_word(std::string_view text);

class ConfigSource {
 public:
  virtual ~ConfigSource() = default;

  // kUnavailable: the configuration is unknown now, and the one in force must stay. If
  // retry_after() then gives a time, nothing will notify. kAlreadyExists: another program should
  // serve this node, so an agent that starts must not.
  virtual Result<config::Loaded> read() = 0;
  virtual std::optional<std::chrono::milliseconds> retry_after() const { return std::nullopt; }
  // The origin of the last read() for people, with its content: "ConfigMap kube-system/x, key l20
  // (...), content 1a2b3c4d". The Node's condition has it, so changed content under the same key is
  // news there.
  virtual std::string origin() const = 0;
  // Of the configuration of the last read() that succeeded, once it is in force; never kOlder.
  virtual ConfigStanding standing() const = 0;
  // Called when the configuration of the last read() is in force.
  virtual void accepted() {}
  // The configuration in force before this process started. kNotFound: nothing was kept.
  virtual Result<config::Loaded> last_good() { return fail(Code::kNotFound, "nothing was kept"); }
  // Whether an answer may still come: nothing has failed since the recent question. What read()
  // lacks meanwhile is no news.
  virtual bool waits() const { return false; }
  // Files to watch for every change that read() would see.
  virtual std::vector<std::filesystem::path> watch_paths() const { return {}; }
};

class FileSource final : public ConfigSource {
 public:
  // `sources`: flags and environment; its file fields are filled here. `file`: --config-file, a
  // file or a folder; "": none. `name`: --config-name.
  FileSource(config::Sources sources, std::string file, std::string name, const Clock& clock)
      : sources_(std::move(sources)),
        file_(std::move(file)),
        name_(std::move(name)),
        clock_(&clock) {}

  // kUnavailable with a time to retry after: somebody is writing the file.
  Result<config::Loaded> read() override;
  std::optional<std::chrono::milliseconds> retry_after() const override;
  std::string origin() const override { return file_.empty() ? "flags alone" : origin_; }
  ConfigStanding standing() const override {
    return {file_.empty() ? ConfigStanding::Is::kDefault : ConfigStanding::Is::kCurrent};
  }
  std::vector<std::filesystem::path> watch_paths() const override;
  // The log line for a program that cannot start because of `error`, from read() or a check of its
  // result.
  std::string startup_failure(const Error& error) const;

 private:
  config::Sources sources_;
  std::string file_;
  std::string name_;
  std::string origin_;
  FsRoot fs_;
  const Clock* clock_;
  config::SettledReader reader_;
};

}  // namespace tranche::agent
