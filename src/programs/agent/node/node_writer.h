#pragma once
// Writes labels and annotations of this agent's own Node through the Node's status, as kubelet
// does. So permission to write the Node's spec is not needed. After a failed write it pauses a
// while, and logs the failure once.
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
  static constexpr std::chrono::seconds kPause{30};  // after a failed write, unless told otherwise

  // `what`: for complaints, what a failed write means: "the controller cannot be asked to evict".
  // The references outlive it.
  NodeWriter(cluster::Objects& objects, std::string node, std::string what, const Clock& clock,
             const Log& log, std::chrono::seconds pause = kPause);

  // By name. nullopt: the label or annotation is removed.
  using Values = std::map<std::string, std::optional<std::string>>;
  struct Change {
    Values labels;
    Values annotations;
    // Only if the Node is still of this version; "": whatever it is.
    std::string resource_version = {};
  };
  // False: it pauses, the write failed, or the Node is of another version.
  bool write(const Change& change, const cluster::Call& call);

 private:
  cluster::Objects& objects_;
  const std::string node_;
  const std::string what_;
  const Clock& clock_;
  const Log& log_;
  const std::chrono::seconds pause_;
  std::string complaint_;  // the complaint logged last
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace tranche::agent
