#pragma once
// The Pods of this node, from the API server: read and watched from the first time somebody asks.
// Thread-safe.

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/pod.h"
#include "cluster/watch_cache.h"

namespace tranche::agent {

class PodsOfNode {
 public:
  // The references outlive it.
  PodsOfNode(cluster::Objects& objects, std::string node, const Log& log, Backoff backoff = {});

  // Those that were read last, when the API server cannot be asked now. nullopt: not read yet.
  std::optional<std::vector<cluster::Pod>> all();
  // They were never read, and that was tried: there may be no leave to.
  bool is_refused();

 private:
  const cluster::WatchCache& cache();

  cluster::Objects& objects_;
  const std::string node_;
  const Log& log_;
  const Backoff backoff_;
  std::mutex mutex_;
  std::optional<cluster::WatchCache> cache_;  // guarded by mutex_; once made it stays
};

}  // namespace tranche::agent
