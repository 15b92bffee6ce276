#pragma once
// The cluster that a command reads: an API server, or a file of `tranche snapshot`. Both are read
// through the same port, and differ only in the time.

#include <memory>
#include <optional>
#include <string>

#include "base/api_server.h"
#include "base/log.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/time.h"
#include "config/flags/sources.h"

namespace tranche::cli {

struct ClusterSource {
  std::unique_ptr<cluster::Objects> objects;
  std::string ns;  // the context's; "": none
  // When the snapshot was taken: its answers are of that time. nullopt: a cluster, now.
  std::optional<cluster::WallTime> taken_at;
};

// Reads a file of `tranche snapshot`. Every error is kInvalidArgument.
Result<cluster::Snapshot> read_snapshot(const std::string& path);

struct ClusterRequest {
  std::string snapshot;  // a file; "": the cluster that `api_server` and the environment choose
  ApiServer api_server;
  std::string user_agent;
};

// Errors: those of choose_cluster() and read_snapshot(). `log` must outlive the source.
Result<ClusterSource> open_cluster(const ClusterRequest& request, const config::Sources& sources,
                                   const Log& log);

}  // namespace tranche::cli
