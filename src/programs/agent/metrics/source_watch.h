#pragma once
// Says once when a source of attribution does not work for a while, and once when all work again,
// by an Event of the Node and in the log. A function of the checks and the time; used by one
// thread.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "agent/node/node_reporter.h"
#include "usage/node_usage.h"

namespace tranche::agent {

class SourceWatch {
 public:
  // At a start Pods and kubelet's answer take a moment, and so does an arbiter's restart.
  static constexpr std::chrono::seconds kPatience{30};

  // nullopt: nothing is new.
  std::optional<NodeNotice> look(std::span<const usage::Check> checks,
                                 std::chrono::steady_clock::time_point now);

 private:
  std::map<std::string, std::chrono::steady_clock::time_point> since_;  // other than what was told
  std::set<std::string> told_;                                          // that do not work
};

}  // namespace tranche::agent
