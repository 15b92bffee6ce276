#pragma once
// Keeps the objects of one selection up to date. Its own thread lists, then watches, continues from
// the last version seen when the stream ends, and lists again when that version is too old (410).
// Lists come from the API server's own cache, like kubelet's: what is reported may briefly lag
// behind the truth, but is never older than what was reported before. While the API server is
// unavailable it keeps what it has and tries again, waiting 1 s, 2 s, ... up to 30 s (each
// shortened by up to half, at random, so that a thousand nodes do not return at once). A failure is
// logged once until its text changes, and its end is logged too.
//
// It watches for its whole lifetime: the destructor stops and joins. Thread-safe. Works over the
// port.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "cluster/objects.h"

namespace tranche::cluster {

enum class ChangeType {
  kAdded,
  kModified,
  kDeleted,
  kSynced,  // once, after the objects of the first complete list have been reported as kAdded
};

struct CacheChange {
  ChangeType type = ChangeType::kAdded;
  Object object;  // kDeleted: its last known state; kSynced: empty
};

class WatchCache {
 public:
  struct Options {
    Kind kind;
    ListOptions selection = {};
    // The API server may not serve the kind (its CRD is not installed): treated as "no objects",
    // and checked again every `Backoff::longest`.
    bool kind_may_be_missing = false;
    // metadata.managedFields is dropped from what is kept unless requested: it is often half of
    // the object.
    bool keep_managed_fields = false;
    // The part of an object's text that is kept and reported; empty: all of it. For kinds with many
    // objects of which little is read.
    std::function<std::string(const std::string&)> reduce = {};
    // Lists return the current state, in pages: for a kind whose whole list is long.
    bool in_pages = false;
    Backoff backoff = {};
    // In [0, 1): the fraction of the shortening applied to a wait. Empty: random.
    std::function<double()> random = {};
  };
  // Called on the cache's thread, in order, never concurrently; the cache already contains the
  // change. It may call find() and all().
  using OnChange = std::function<void(const CacheChange&)>;

  // `objects` and `log` must outlive the cache.
  WatchCache(Objects& objects, Options options, OnChange on_change, const Log& log);
  ~WatchCache();
  WatchCache(const WatchCache&) = delete;
  WatchCache& operator=(const WatchCache&) = delete;

  std::optional<Object> find(const ObjectKey& key) const;
  std::vector<Object> all() const;  // by key
  // Whether the first complete list has been read (it may be outdated: see failure()).
  bool synced() const;
  // Why it is not up to date now; nullopt if it is, or has not tried yet.
  std::optional<Error> failure() const;

 private:
  void run(const std::stop_token& stop);
  void list(const std::stop_token& stop);
  void watch(const std::stop_token& stop);
  void replace(ObjectList list);
  void take(WatchEvent event);
  void put(Object object);
  void drop(const ObjectKey& key, std::optional<Object> last);
  void tell(ChangeType type, Object object);
  void up_to_date();
  void failed(Error error, const std::stop_token& stop);
  void expired(const std::stop_token& stop);
  double random() const;
  std::chrono::milliseconds shortened(std::chrono::milliseconds wait) const;
  // A random time from zero to `longest`.
  std::chrono::milliseconds spread(std::chrono::milliseconds longest) const;
  std::string name() const;

  Objects& objects_;
  const Options options_;
  const OnChange on_change_;
  const Log& log_;
  mutable std::mutex mutex_;
  std::map<ObjectKey, Object> kept_;
  bool synced_ = false;
  std::optional<Error> failure_;
  // Only used by the thread.
  std::string version_;  // to watch from; empty: list first
  // The next list is not older than this, and comes from the server's own cache; empty: the current
  // state, as always with `in_pages`. So a thousand agents that list at once after an outage do not
  // all reach etcd.
  std::string not_before_ = "0";
  bool delivered_ = false;      // the current watch has delivered something
  std::uint32_t failures_ = 0;  // consecutive
  Backoff backoff_;             // after the next failure
  std::string complaint_;       // the last one logged
  std::jthread thread_;
};

}  // namespace tranche::cluster
