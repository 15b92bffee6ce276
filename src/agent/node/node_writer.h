#pragma once
// Writes labels and annotations of this agent's own Node, by its status, as kubelet writes
// annotations: leave to write the Node's spec is not needed. After a write that failed it rests a
// while, and says once what goes wrong.
//
// Of one thread.

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
  static constexpr std::chrono::seconds kPause{30};  // after a write that failed

  // `what`: of complaints, what is not done: "the controller cannot be asked to evict". The
  // references outlive it.
  NodeWriter(cluster::Objects& objects, std::string node, std::string what, const Clock& clock,
             const Log& log);

  // nullopt: it is taken away.
  using Values = std::map<std::string, std::optional<std::string>>;
  struct Change {
    Values labels;
    Values annotations;
  };
  // False: it rests, or it did not work.
  bool write(const Change& change, const cluster::Call& call);

 private:
  cluster::Objects& objects_;
  const std::string node_;
  const std::string what_;
  const Clock& clock_;
  const Log& log_;
  std::string complaint_;  // logged last
  std::chrono::steady_clock::time_point not_before_{};
};

}  // namespace tranche::agent
