#pragma once
// The objects of one selection, kept up to date: a thread of its own lists, then watches, goes on
// from the last version seen when the stream ends, and lists again when that version is too old
// (410). Lists come from the API server's own cache, as kubelet's do: what is told may be older
// than the truth for a moment, never older than what was told before. While the API server is away
// it keeps what it has and tries again, waiting 1 s, 2 s, ... up to 30 s (each shortened by up to
// half, at random, so that a thousand nodes do not come back at once). A failure is logged once
// until its text changes, and its end is logged too.
//
// Lives as long as it watches: the destructor stops and joins. Thread-safe. Works over the port.

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
  kSynced,  // once, after the objects of the first complete list have been told as kAdded
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
    // The API server may not serve the kind (its definition is not installed): counts as "no
    // objects", and is looked for again every `Backoff::longest`.
    bool kind_may_be_missing = false;
    // metadata.managedFields is dropped from what is kept unless asked for: it is often half of
    // the object.
    bool keep_managed_fields = false;
    // What of an object's text is kept and told; empty: all of it. For kinds of which there are
    // many and of which little is read.
    std::function<std::string(const std::string&)> reduce = {};
    // Lists are of now and come in pages: for a kind whose whole list is long.
    bool in_pages = false;
    Backoff backoff = {};
    // In [0, 1): which part of the shortening a wait gets. Empty: the machine's randomness.
    std::function<double()> random = {};
  };
  // Called on the cache's thread, in the order things happened, never two at once; the cache
  // already holds the change. It may call find() and all().
  using OnChange = std::function<void(const CacheChange&)>;

  // `objects` and `log` must outlive the cache.
  WatchCache(Objects& objects, Options options, OnChange on_change, const Log& log);
  ~WatchCache();
  WatchCache(const WatchCache&) = delete;
  WatchCache& operator=(const WatchCache&) = delete;

  std::optional<Object> find(const ObjectKey& key) const;
  std::vector<Object> all() const;  // by key
  // The first complete list has been read (it may be old since: see failure()).
  bool synced() const;
  // Why it is not up to date at the moment; nullopt when it is, or has not tried yet.
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
  // Any time from none to `longest`.
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
  // Of the thread alone.
  std::string version_;  // to watch from; empty: list first
  // The next list is not older than this, and comes from the server's own cache; empty: it is of
  // now, as with `in_pages` always. A thousand agents that list at once after an outage do not all
  // reach etcd.
  std::string not_before_ = "0";
  bool heard_ = false;          // the watch under way has told something
  std::uint32_t failures_ = 0;  // in a row
  Backoff backoff_;             // after the next failure
  std::string complaint_;       // the last one logged
  std::jthread thread_;
};

}  // namespace tranche::cluster
