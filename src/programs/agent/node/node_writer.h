#pragma once
// Writes labels and annotations of this agent's own Node through its status, as kubelet does, so
// the permission to write the Node's spec is not needed. Pauses after a failed write, and logs the
// failure once.
//
// Used by one thread.

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/objects.h"

namespace tranche::agent {

class NodeWriter {
 public:
  static constexpr std::chrono::seconds kPause{30};  // after a failed write, by default

  // `what`: what a failed write means, for the log: "the controller cannot be asked to evict".
  NodeWriter(cluster::Objects& objects, std::string node, std::string what, const Clock& clock,
             const Log& log, std::chrono::seconds pause = kPause);

  // By name. nullopt: removed.
  using Values = std::map<std::string, std::optional<std::string>>;
  struct Change {
    Values labels;
    Values annotations;
    // Only if the Node still has this version; "": any.
    std::string resource_version = {};
  };
  // False: it pauses, the write failed, or the Node has another version.
  bool write(const Change& change, const cluster::Call& call);

 private:
  cluster::Objects& objects_;
  const std::string node_;
  const std::string what_;
  const Clock& clock_;
  const Log& log_;
  const std::chrono::seconds pause_;
  std::string complaint_;  // logged last
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace tranche::agent
