#pragma once
// The cluster that a command looks at: an API server, or a file of `tranche snapshot` in its place.
// The command reads both through the same port and cannot tell them apart, but for the time.

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
  std::string ns;  // of the context; "": it names none
  // When the file was taken: the moment that its answers are about. nullopt: a cluster, now.
  std::optional<cluster::WallTime> taken_at;
};

// A file of `tranche snapshot`. Whatever is wrong with it is kInvalidArgument.
Result<cluster::Snapshot> read_snapshot(const std::string& path);

struct ClusterRequest {
  std::string snapshot;  // a file; "": the cluster that `api_server` and the environment choose
  ApiServer api_server;
  std::string user_agent;
};

// Errors are those of choose_cluster() and read_snapshot(). `log` must outlive the source.
Result<ClusterSource> open_cluster(const ClusterRequest& request, const config::Sources& sources,
                                   const Log& log);

}  // namespace tranche::cli
