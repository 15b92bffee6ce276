#include "cli/shell/cluster_source.h"

#include <filesystem>
#include <utility>

#include "base/fs.h"
#include "cli/shell/cluster_choice.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/snapshot_objects.h"
#include "kube/client.h"

namespace tranche::cli {
namespace {

// Limits memory to half a gigabyte.
constexpr std::size_t kLongestSnapshot = std::size_t{256} << 20U;

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  auto full = std::filesystem::absolute(path, error);
  auto text = FsRoot().read(error ? std::filesystem::path(path) : full, kLongestSnapshot);
  if (text) return text;
  return fail(Code::kInvalidArgument, "--snapshot: " + text.error().what, text.error().hint);
}

Result<ClusterSource> open_file(const std::string& path) {
  ASSIGN_OR_RETURN(const auto snapshot, read_snapshot(path));
  return ClusterSource{.objects = std::make_unique<cluster::SnapshotObjects>(snapshot),
                       .ns = {},
                       .taken_at = snapshot.taken_at};
}

}  // namespace

Result<cluster::Snapshot> read_snapshot(const std::string& path) {
  ASSIGN_OR_RETURN(const auto text, read_file(path));
  auto snapshot = cluster::decode(text);
  if (!snapshot) return std::unexpected(std::move(snapshot).error().with_context(path));
  return snapshot;
}

Result<ClusterSource> open_cluster(const ClusterRequest& request, const config::Sources& sources,
                                   const Log& log) {
  if (!request.snapshot.empty()) return open_file(request.snapshot);
  ASSIGN_OR_RETURN(auto credentials, choose_cluster(request.api_server, sources));
  auto ns = credentials.ns;
  ASSIGN_OR_RETURN(
      auto client,
      kube::Client::open(std::move(credentials), {.user_agent = request.user_agent, .log = &log}));
  return ClusterSource{.objects = std::move(client), .ns = std::move(ns), .taken_at = std::nullopt};
}

}  // namespace tranche::cli
