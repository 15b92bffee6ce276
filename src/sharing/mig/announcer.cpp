#include "mig/announcer.h"

#include <algorithm>
#include <vector>

#include "cluster/client/list_of.h"
#include "cluster/snapshot/parts.h"

namespace tranche::mig {
namespace {

using cluster::SnapshotPod;

// In a cluster with many Jobs only a small part of the Pods.
constexpr const char* kNotEnded = "status.phase!=Succeeded,status.phase!=Failed";

// A Pod that requests no extended resource affects no other Pod; one that ends is announced.
bool is_about(const SnapshotPod& pod, const cluster::MigChange& change, const std::string& node) {
  const cluster::ObjectKey name{pod.pod.ns, pod.pod.name};
  const bool ends = pod.pod.node == node && std::ranges::count(change.pods, name) > 0;
  return ends || std::ranges::any_of(pod.pod.containers, [](const cluster::PodContainer& one) {
           return !one.requests.empty();
         });
}

// Removes what the announcement does not read, and what the Pod's owner may make large.
void shorten(SnapshotPod& pod, const std::string& node) {
  pod.pod.labels.clear();
  if (pod.pod.node != node) pod.pod.annotations.clear();  // those identify a static Pod
  pod.pod.message.clear();
  pod.pod.unschedulable.clear();
  pod.pod.container_ids.clear();
}

}  // namespace

Result<Announcement> announce_now(cluster::Objects& objects, const cluster::MigChange& change,
                                  const std::string& node, const cluster::Call& call) {
  const auto keep_node = [](cluster::Node& one) {
    one.annotations.clear();
    return true;
  };
  ASSIGN_OR_RETURN(const auto nodes, cluster::some_of(objects, cluster::kNode, {},
                                                      cluster::parse_node, keep_node, call));
  const auto keep_pod = [&](SnapshotPod& pod) {
    shorten(pod, node);
    return is_about(pod, change, node);
  };
  ASSIGN_OR_RETURN(const auto pods,
                   cluster::some_of(objects, cluster::kPod, {.field_selector = kNotEnded},
                                    cluster::parse_snapshot_pod, keep_pod, call));
  return announce(change, node, nodes, pods);
}

}  // namespace tranche::mig
