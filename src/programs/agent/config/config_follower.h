#pragma once
// The configuration in force, and how it follows its source. A refused configuration changes
// nothing and is reported once; a new one is announced. Used by one thread, a program's loop.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "agent/config/config_source.h"
#include "agent/node/node_reporter.h"
#include "base/log.h"
#include "base/said_once.h"
#include "config/file/load.h"

namespace tranche::agent {

class ConfigFollower {
 public:
  struct Options {
    // Checks whether a new configuration can be followed here; an error refuses it.
    std::function<Result<void>(const config::Config&)> check = {};
    std::function<void(const ConfigReport&)> report = {};
    // The text of the effective configuration; empty: as loaded.
    std::function<std::string(const config::Loaded&)> effective = {};
    // Another log line about a configuration that takes effect; empty: none.
    std::function<std::string(const config::Config&)> describe = {};
  };

  // `first`: what the first read() of `source` returned.
  ConfigFollower(ConfigSource& source, config::Loaded first, Options options, const Log& log);

  // Reads the source. True: another configuration is in force now.
  bool look();
  // When to look again without a notification; nullopt: never.
  std::optional<std::chrono::milliseconds> look_again() const { return source_.retry_after(); }
  void announce() const;

  const config::Config& config() const { return loaded_.config; }
  // kUnknown before the first look().
  ConfigStanding standing() const { return standing_; }
  // Counts the configurations that took effect since the first.
  unsigned revision() const { return revision_; }
  std::string origin() const { return source_.origin(); }
  std::vector<std::filesystem::path> watch_paths() const { return source_.watch_paths(); }

 private:
  void accept();
  void refuse(const Error& error);
  void wait_for(const Error& error);

  ConfigSource& source_;
  config::Loaded loaded_;
  Options options_;
  const Log& log_;
  ConfigStanding standing_;
  unsigned revision_ = 0;
  SaidOnce said_;
};

}  // namespace tranche::agent
