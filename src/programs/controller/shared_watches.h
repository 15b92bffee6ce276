#pragma once
// The watches of this process, each shared by all workers that want the same. A watch begins with
// the first worker that needs it and ends with the last.
//
// A worker holds a Watch for each selection of objects that it follows. Declare it after what its
// listener uses: the listener may be called while the worker is being constructed, and no more once
// the Watch is destroyed. Thread-safe.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "cluster/client/watch_cache.h"
#include "cluster/objects.h"

namespace tranche::controller {

// Reduces an object's JSON to the text that is kept. Reductions of the same name must be the same.
struct Reduction {
  std::string name = {};
  std::function<std::string(const std::string&)> make = {};  // empty: the whole text is kept
};

// What is watched (cluster::WatchCache::Options). Equal ones share a watch.
struct Watched {
  cluster::Kind kind;
  cluster::ListOptions selection = {};
  bool kind_may_be_missing = false;
  Reduction reduce = {};
  bool in_pages = false;
};

class SharedWatch;

class SharedWatches {
 public:
  // `backoff`: between attempts to watch. The references outlive the watches.
  SharedWatches(cluster::Objects& objects, const Log& log, const Backoff& backoff = {})
      : objects_(objects), log_(log), backoff_(backoff) {}

 private:
  friend class Watch;
  std::shared_ptr<SharedWatch> of(const Watched& watched);

  cluster::Objects& objects_;
  const Log& log_;
  const Backoff backoff_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<SharedWatch>> known_;  // by what is watched
};

// One worker's subscription to a watch.
class Watch {
 public:
  using OnChange = cluster::WatchCache::OnChange;

  // `on_change` is called by one thread at a time, and must not wait for a Watch to be created or
  // destroyed. If the watch exists already, the constructor calls it with every known object, as
  // kAdded. It may receive a concurrent change twice, or the deletion of an object that it never
  // received.
  Watch(
      SharedWatches& watches, const Watched& watched,
      OnChange on_change = [](const cluster::CacheChange&) {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // As those of cluster::WatchCache.
  std::optional<cluster::Object> find(const cluster::ObjectKey& key) const;
  std::vector<cluster::Object> all() const;
  bool synced() const;
  std::optional<Error> failure() const;

 private:
  const std::shared_ptr<SharedWatch> shared_;
  const std::size_t listener_;
};

// Why not all of these watches are up to date; nullopt: all are. Null ones are skipped.
std::optional<std::string> trouble_of(const std::vector<const Watch*>& watches);

}  // namespace tranche::controller
