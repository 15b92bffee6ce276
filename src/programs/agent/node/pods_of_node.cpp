#include "agent/node/pods_of_node.h"

#include <utility>

namespace tranche::agent {

PodsOfNode::PodsOfNode(cluster::Objects& objects, std::string node, const Log& log, Backoff backoff)
    : objects_(objects), node_(std::move(node)), log_(log), backoff_(backoff) {}

const cluster::WatchCache& PodsOfNode::cache() {
  const std::scoped_lock lock(mutex_);
  if (!cache_) {
    cache_.emplace(
        objects_,
        cluster::WatchCache::Options{.kind = cluster::kPod,
                                     .selection = {.field_selector = "spec.nodeName=" + node_},
                                     .backoff = backoff_},
        [this](const cluster::CacheChange&) { note_change(); }, log_);
  }
  return *cache_;
}

void PodsOfNode::note_change() {
  {
    const std::scoped_lock lock(mutex_);
    ++changes_;
  }
  changed_.notify_all();
}

std::shared_ptr<const std::vector<cluster::Pod>> PodsOfNode::shared() {
  const auto& cache = this->cache();
  if (!cache.synced()) return nullptr;
  std::uint64_t changes = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (parsed_ != nullptr && parsed_at_ == changes_) return parsed_;
    changes = changes_;
  }
  std::vector<cluster::Pod> pods;
  for (const auto& object : cache.all()) {
    if (auto pod = cluster::parse_pod(object.json)) pods.push_back(*std::move(pod));
  }
  auto parsed = std::make_shared<const std::vector<cluster::Pod>>(std::move(pods));
  const std::scoped_lock lock(mutex_);
  parsed_ = parsed;
  parsed_at_ = changes;
  return parsed;
}

std::optional<std::vector<cluster::Pod>> PodsOfNode::all() {
  const auto pods = shared();
  return pods == nullptr ? std::nullopt : std::optional(*pods);
}

std::optional<cluster::Pod> PodsOfNode::find(const std::string& uid) {
  for (const auto& object : this->cache().all()) {
    if (object.uid != uid) continue;
    if (auto pod = cluster::parse_pod(object.json)) return *std::move(pod);
  }
  return std::nullopt;
}

std::optional<cluster::Pod> PodsOfNode::await(const std::string& uid,
                                              std::chrono::steady_clock::time_point end) {
  while (true) {
    std::uint64_t seen = 0;
    {
      const std::scoped_lock lock(mutex_);
      seen = changes_;
    }
    if (auto pod = find(uid)) return pod;
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, end, [&] { return changes_ != seen; })) return std::nullopt;
  }
}

bool PodsOfNode::is_refused() {
  const auto& cache = this->cache();
  return !cache.synced() && cache.failure().has_value();
}

}  // namespace tranche::agent
