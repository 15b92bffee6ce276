#pragma once
// Takes a snapshot from an API server.

#include <string>
#include <vector>

#include "base/dra_driver.h"
#include "base/result.h"
#include "cluster/formats/reasons.h"
#include "cluster/objects.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/time.h"

namespace tranche::cluster {

struct TakeOptions {
  WallTime now;
  std::string server;
  std::string taken_by;
  // Those with configurations, in addition to those that agents name on their Nodes. Each is read
  // only by its name, as agents may do.
  std::vector<ObjectKey> config_maps = {};
  // The GPU operator's namespace, from which a ClusterPolicy's ConfigMap is read. Empty: it is not
  // read.
  std::string policy_namespace = {};
  // Resources of these domains are GPUs.
  std::vector<std::string> domains = {"nvidia.com"};
  // The driver of GPUs, whose parameters are kept in claims.
  std::string driver = std::string(kDefaultDraDriver);
  std::string condition = condition::kTrancheConfigured;  // of the Node
};

// Queries the API server, one call after another, each with `call`'s deadline. A failure becomes a
// gap; an invalid object becomes a gap of that object. An error only if the first call does not
// reach the API server (kUnavailable, kTimeout: each of the others would wait as long), if nothing
// at all could be read (that of the first call), or a stop was requested (kUnavailable).
Result<Snapshot> take(Objects& objects, const TakeOptions& options, const Call& call = {});

}  // namespace tranche::cluster
