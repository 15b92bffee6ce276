#include "agent/pods_of_node.h"

#include <utility>

namespace tranche::agent {

PodsOfNode::PodsOfNode(cluster::Objects& objects, std::string node, const Log& log,
                       cluster::WatchCache::Backoff backoff)
    : objects_(objects), node_(std::move(node)), log_(log), backoff_(backoff) {}

std::optional<std::vector<cluster::Pod>> PodsOfNode::all() {
  const cluster::WatchCache* cache = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (!cache_) {
      cache_.emplace(
          objects_,
          cluster::WatchCache::Options{.kind = cluster::kPod,
                                       .selection = {.field_selector = "spec.nodeName=" + node_},
                                       .backoff = backoff_},
          [](const cluster::CacheChange&) {}, log_);
    }
    cache = &*cache_;
  }
  if (!cache->synced() && !cache->failure()) return std::nullopt;
  std::vector<cluster::Pod> pods;
  for (const auto& object : cache->all()) {
    if (auto pod = cluster::parse_pod(object.json)) pods.push_back(*std::move(pod));
  }
  return pods;
}

}  // namespace tranche::agent
