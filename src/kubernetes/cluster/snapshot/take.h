#pragma once
// Takes a snapshot from an API server.

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"
#include "cluster/reasons.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/time.h"

namespace tranche::cluster {

struct TakeOptions {
  WallTime now;
  std::string server;
  std::string taken_by;
  // Those that hold configurations. Each is read by its name alone, as agents may.
  std::vector<ObjectKey> config_maps = {};
  // The GPU operator's namespace: the ConfigMap that a ClusterPolicy names is read from it. Empty:
  // it is not read.
  std::string policy_namespace = {};
  // Resources of these domains are GPUs.
  std::vector<std::string> domains = {"nvidia.com"};
  std::string condition = condition::kTrancheConfigured;  // of the Node
};

// Asks the API server, one call after the other, each with `call`'s deadline. What fails becomes a
// gap; an object that is not as it must be becomes a gap of that object. An error only when nothing
// at all could be read (that of the first call) or a stop was asked for (kUnavailable).
Result<Snapshot> take(Objects& objects, const TakeOptions& options, const Call& call = {});

}  // namespace tranche::cluster
