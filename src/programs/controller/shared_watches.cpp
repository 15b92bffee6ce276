#include "controller/shared_watches.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::controller {
namespace {

std::string key_of(const Watched& watched) {
  const auto& [ns, labels, fields, not_before] = watched.selection;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}{}", watched.kind.resource(), ns, labels, fields,
                     watched.reduce.name, watched.kind_may_be_missing, watched.in_pages);
}

}  // namespace

class SharedWatch {
 public:
  SharedWatch(cluster::Objects& objects, cluster::WatchCache::Options options, const Log& log)
      : objects_(objects), options_(std::move(options)), log_(log) {}

  std::size_t add(Watch::OnChange listener) {
    const std::scoped_lock lock(telling_);
    const auto number = next_++;
    if (cache_) tell_known(listener);
    listeners_.emplace(number, std::move(listener));
    if (!cache_) {
      cache_.emplace(
          objects_, options_, [this](const cluster::CacheChange& change) { tell(change); }, log_);
    }
    return number;
  }
  // Waits for a running call.
  void remove(std::size_t number) {
    const std::scoped_lock lock(telling_);
    listeners_.erase(number);
  }
  // Only after add().
  const cluster::WatchCache& cache() const { return *cache_; }

 private:
  void tell(const cluster::CacheChange& change) {
    const std::scoped_lock lock(telling_);
    if (change.type == cluster::ChangeType::kSynced) synced_was_told_ = true;
    for (const auto& [number, listener] : listeners_) listener(change);
  }
  void tell_known(const Watch::OnChange& listener) const {
    for (auto& object : cache_->all()) listener({cluster::ChangeType::kAdded, std::move(object)});
    if (synced_was_told_) listener({cluster::ChangeType::kSynced, {}});
  }

  cluster::Objects& objects_;
  const cluster::WatchCache::Options options_;
  const Log& log_;
  std::mutex telling_;  // held while listeners are called
  // Guarded by telling_.
  std::map<std::size_t, Watch::OnChange> listeners_;
  std::size_t next_ = 0;
  bool synced_was_told_ = false;
  // Last: its thread calls the listeners. Created with the first listener.
  std::optional<cluster::WatchCache> cache_;
};

std::shared_ptr<SharedWatch> SharedWatches::of(const Watched& watched) {
  const std::scoped_lock lock(mutex_);
  auto& known = known_[key_of(watched)];
  auto shared = known.lock();
  if (shared) return shared;
  shared = std::make_shared<SharedWatch>(
      objects_,
      cluster::WatchCache::Options{.kind = watched.kind,
                                   .selection = watched.selection,
                                   .kind_may_be_missing = watched.kind_may_be_missing,
                                   .reduce = watched.reduce.make,
                                   .in_pages = watched.in_pages,
                                   .backoff = backoff_},
      log_);
  known = shared;
  return shared;
}

Watch::Watch(SharedWatches& watches, const Watched& watched, OnChange on_change)
    : shared_(watches.of(watched)), listener_(shared_->add(std::move(on_change))) {}

Watch::~Watch() { shared_->remove(listener_); }

std::optional<cluster::Object> Watch::find(const cluster::ObjectKey& key) const {
  return shared_->cache().find(key);
}

std::vector<cluster::Object> Watch::all() const { return shared_->cache().all(); }

bool Watch::synced() const { return shared_->cache().synced(); }

std::optional<Error> Watch::failure() const { return shared_->cache().failure(); }

std::optional<std::string> trouble_of(const std::vector<const Watch*>& watches) {
  for (const auto* watch : watches) {
    if (watch == nullptr) continue;
    if (const auto failure = watch->failure()) return failure->message();
    if (!watch->synced()) return "the API server has not answered yet";
  }
  return std::nullopt;
}

}  // namespace tranche::controller
