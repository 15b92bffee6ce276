#pragma once
// Changes a DaemonSet and waits until every node has a Pod of the new kind that is ready: how the
// chart turns agents into cleaners before it is uninstalled. Asks again and again, for the right to
// watch would be one more.

#include <chrono>
#include <string>

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
};

// Says how far it is whenever that changes. A DaemonSet that does not exist, or that Helm did not
// install, has nothing to wait for and is not changed. kTimeout with the nodes that did not finish;
// kUnavailable when `wait` was told to stop; what the API server refuses is returned at once, what
// may pass is tried again.
Result<void> roll_out(cluster::Objects& objects, const DaemonSetRollout& rollout,
                      const CleanupWait& wait, const Clock& clock, const Log& log);

}  // namespace tranche::agent
