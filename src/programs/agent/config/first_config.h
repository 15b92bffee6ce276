#pragma once
// How an agent on a cluster starts: it waits for its first configuration and advertises nothing
// before.

#include <functional>
#include <optional>

#include "agent/config/config_source.h"
#include "agent/node/agent_status.h"
#include "agent/node/node_reporter.h"
#include "base/log.h"
#include "base/said_once.h"
#include "process/change_notifier.h"

namespace tranche::agent {

struct FirstConfig {
  ConfigSource& source;
  process::ChangeNotifier& notifier;  // notified when `source` may have changed
  std::function<void(const ConfigReport&)> report;
  AgentStatus& status;
  const Log& log;
};

// Waits for the first configuration, and logs once what it waits for, if the API server does not
// answer for a while. A refused configuration is reported to the cluster; then the last one in
// force is used, unless another program should serve this node. nullopt: a signal asked to stop.
// `signals`: a descriptor from open_signals().
Result<std::optional<config::Loaded>> first_config(const FirstConfig& from, int signals);

// Whether first_config() would return at once. An error: what it would wait for, or that another
// program should serve this node. `said`: what was logged of it before.
Result<void> has_first_config(ConfigSource& source, SaidOnce& said, const Log& log);

// The first configuration of an agent without a cluster, which ends if there is none. Waits only
// while somebody is writing the file. nullopt: a signal asked to stop.
Result<std::optional<config::Loaded>> read_when_whole(ConfigSource& source, int signals,
                                                      const Log& log);

}  // namespace tranche::agent
