#pragma once
// How an agent of a cluster starts: it waits for its first configuration and advertises nothing
// before.

#include <functional>
#include <optional>

#include "agent/config/config_source.h"
#include "agent/node/node_reporter.h"
#include "agent/node/status_file.h"
#include "base/log.h"
#include "process/change_notifier.h"

namespace tranche::agent {

struct FirstConfig {
  ConfigSource& source;
  process::ChangeNotifier& notifier;  // notified when `source` may say something new
  std::function<void(const ConfigReport&)> report;
  StatusFile& status;
  const Log& log;
};

// Says once for what it waits, and tells the cluster why a configuration is refused; then what was
// in force before this start serves, unless someone else is to serve this node. nullopt: told to
// stop. `signals`: a descriptor from open_signals().
Result<std::optional<config::Loaded>> first_config(const FirstConfig& from, int signals);

}  // namespace tranche::agent
