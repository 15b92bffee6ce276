#pragma once
// Changes a DaemonSet and waits until every node has a ready Pod of the new kind. The chart turns
// agents into cleaners this way before it is uninstalled. It polls, because watching would need
// another permission.

#include <chrono>
#include <string>

#include "agent/cleanup/claims_in_the_way.h"
#include "agent/cleanup/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::agent {

struct DaemonSetRollout {
  cluster::ObjectKey daemon_set;
  std::string patch;  // strategic merge patch
  std::chrono::nanoseconds timeout;
  // kStop: where claims are in use on the nodes, nothing is changed, and the error names them.
  Claims claims = Claims::kStop;
};

// Logs changes of the progress. A DaemonSet that does not exist, that Helm did not install, or of
// which no Pod has ever run (a failed installation), is not changed, and nothing is waited for.
// kTimeout, with the unfinished nodes; kUnavailable when `wait` returned false. A permanent error
// is returned at once; others are retried.
Result<void> roll_out(cluster::Objects& objects, const DaemonSetRollout& rollout,
                      const CleanupWait& wait, const Clock& clock, const Log& log);

}  // namespace tranche::agent
