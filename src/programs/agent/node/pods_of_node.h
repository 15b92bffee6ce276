#pragma once
// The Pods of this node, from the API server, read and watched from the first call on. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/client/watch_cache.h"
#include "cluster/objects.h"
#include "cluster/pod.h"

namespace tranche::agent {

class PodsOfNode {
 public:
  PodsOfNode(cluster::Objects& objects, std::string node, const Log& log, Backoff backoff = {});

  // As last read, if the API server cannot be asked now. nullopt: not read yet.
  std::optional<std::vector<cluster::Pod>> all();
  // The same without a copy, for those who ask often: the same vector until a Pod changes. null:
  // not read yet.
  std::shared_ptr<const std::vector<cluster::Pod>> shared();
  // nullopt: none with this uid, or not read yet.
  std::optional<cluster::Pod> find(const std::string& uid);
  // As find(), once it is read; nullopt: not until `end`.
  std::optional<cluster::Pod> await(const std::string& uid,
                                    std::chrono::steady_clock::time_point end);
  // True: reading has never worked. The permission may be missing.
  bool is_refused();

 private:
  const cluster::WatchCache& cache();
  void note_change();

  cluster::Objects& objects_;
  const std::string node_;
  const Log& log_;
  const Backoff backoff_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::uint64_t changes_ = 0;
  std::shared_ptr<const std::vector<cluster::Pod>> parsed_;  // null: not yet
  std::uint64_t parsed_at_ = 0;                              // changes_ before they were read
  std::optional<cluster::WatchCache> cache_;  // last: its thread uses the others; stays once made
};

}  // namespace tranche::agent
