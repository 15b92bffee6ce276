#include "cluster/client/watch_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "base/pause.h"

namespace tranche::cluster {
namespace {

// After this many failed watches in a row the version they started from may be the trouble (an API
// server whose store was restored from a backup): list again.
constexpr std::uint32_t kListAfter = 3;

double machine_random() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

bool same(const Object& a, const Object& b) {
  return a.uid == b.uid && a.resource_version == b.resource_version;
}

}  // namespace

WatchCache::WatchCache(Objects& objects, Options options, OnChange on_change, const Log& log)
    : objects_(objects),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      log_(log),
      backoff_(options_.backoff),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

WatchCache::~WatchCache() {
  thread_.request_stop();
  thread_.join();
}

std::optional<Object> WatchCache::find(const ObjectKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = kept_.find(key);
  return found == kept_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Object> WatchCache::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Object> objects;
  objects.reserve(kept_.size());
  for (const auto& [key, object] : kept_) objects.push_back(object);
  return objects;
}

bool WatchCache::synced() const {
  const std::scoped_lock lock(mutex_);
  return synced_;
}

std::optional<Error> WatchCache::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void WatchCache::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (version_.empty()) {
      list(stop);
    } else {
      watch(stop);
    }
  }
}

void WatchCache::list(const std::stop_token& stop) {
  const Call call{std::chrono::minutes(1), stop};
  auto selection = options_.selection;
  if (!options_.in_pages) selection.not_before = not_before_;
  auto list = objects_.list(options_.kind, selection, call);
  if (stop.stop_requested()) return;
  if (list) {
    version_ = list->resource_version;
    replace(*std::move(list));
    if (!version_.empty()) return;
    return failed({Code::kInternal, "the list has no resourceVersion"}, stop);
  }
  if (options_.kind_may_be_missing && list.error().code == Code::kNotFound) {
    replace({});
    up_to_date();
    pause(shortened(options_.backoff.longest), stop);
    return;
  }
  // The server has no state that is new enough, or the list is too long for one page.
  const bool away =
      list.error().code == Code::kUnavailable || list.error().code == Code::kPermission;
  if (!away) not_before_.clear();
  failed(std::move(list).error(), stop);
}

void WatchCache::watch(const std::stop_token& stop) {
  delivered_ = false;
  const auto end = objects_.watch(
      options_.kind, {options_.selection, version_},
      [this](WatchEvent event) { take(std::move(event)); }, stop);
  if (stop.stop_requested()) return;
  if (!end) {
    const bool missing = options_.kind_may_be_missing && end.error().code == Code::kNotFound;
    if (missing || failures_ + 1 >= kListAfter) {
      version_.clear();
      not_before_.clear();
    }
    if (!missing) failed(end.error(), stop);
    return;
  }
  if (*end == WatchEnd::kExpired) return expired(stop);
  // A server that ends every watch at once is not asked without pause.
  if (!delivered_) pause(shortened(options_.backoff.first), stop);
}

// What was seen may be older than all that a server which has just started keeps. So it is with
// every agent of the cluster at that moment: they list one after the other.
void WatchCache::expired(const std::stop_token& stop) {
  not_before_ = std::exchange(version_, {});
  pause(spread(2 * options_.backoff.first), stop);
}

// A complete list takes the place of everything.
void WatchCache::replace(ObjectList list) {
  std::set<ObjectKey> gone;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, object] : kept_) gone.insert(key);
  }
  for (const auto& object : list.items) gone.erase(object.key);
  for (const auto& key : gone) drop(key, std::nullopt);
  for (auto& object : list.items) put(std::move(object));
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = !std::exchange(synced_, true);
  }
  if (first) tell(ChangeType::kSynced, {});
}

void WatchCache::take(WatchEvent event) {
  const bool opening =
      event.type == WatchEventType::kBookmark && (event.object.resource_version == version_);
  if (event.type == WatchEventType::kBookmark) up_to_date();
  if (!opening) delivered_ = true;
  if (!event.object.resource_version.empty()) version_ = event.object.resource_version;
  switch (event.type) {
    case WatchEventType::kAdded:
    case WatchEventType::kModified:
      return put(std::move(event.object));
    case WatchEventType::kDeleted: {
      const auto key = event.object.key;
      return drop(key, std::move(event.object));
    }
    case WatchEventType::kBookmark:
      return;
  }
}

void WatchCache::put(Object object) {
  if (!options_.keep_managed_fields) object.json = without_managed_fields(object.json);
  if (options_.reduce) object.json = options_.reduce(object.json);
  auto type = ChangeType::kAdded;
  bool replaced = false;  // deleted and created again while the watch was interrupted
  {
    const std::scoped_lock lock(mutex_);
    const auto known = kept_.find(object.key);
    if (known != kept_.end()) {
      if (same(known->second, object)) return;
      replaced = known->second.uid != object.uid;
      type = ChangeType::kModified;
    }
  }
  if (replaced) {
    drop(object.key, std::nullopt);
    type = ChangeType::kAdded;
  }
  {
    const std::scoped_lock lock(mutex_);
    kept_.insert_or_assign(object.key, object);
  }
  tell(type, std::move(object));
}

void WatchCache::drop(const ObjectKey& key, std::optional<Object> last) {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = kept_.find(key);
    if (known == kept_.end()) return;
    if (!last) last = std::move(known->second);
    kept_.erase(known);
  }
  tell(ChangeType::kDeleted, *std::move(last));
}

void WatchCache::tell(ChangeType type, Object object) {
  if (on_change_) on_change_({type, std::move(object)});
}

void WatchCache::up_to_date() {
  failures_ = 0;
  backoff_.reset();
  {
    const std::scoped_lock lock(mutex_);
    failure_.reset();
  }
  if (std::exchange(complaint_, {}).empty()) return;
  log_.info(fmt::format("{}: followed again", name()));
}

void WatchCache::failed(Error error, const std::stop_token& stop) {
  const auto message = error.message();
  {
    const std::scoped_lock lock(mutex_);
    failure_ = std::move(error);
  }
  if (message != complaint_) {
    complaint_ = message;
    log_.warn(fmt::format("cannot follow {}, going on with what is known and trying again: {}",
                          name(), message));
  }
  ++failures_;
  pause(shortened(backoff_.next()), stop);
}

double WatchCache::random() const { return options_.random ? options_.random() : machine_random(); }

std::chrono::milliseconds WatchCache::shortened(std::chrono::milliseconds wait) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(wait * (1.0 - 0.5 * random()));
}

std::chrono::milliseconds WatchCache::spread(std::chrono::milliseconds longest) const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(longest * random());
}

std::string WatchCache::name() const {
  const auto& [ns, labels, fields, not_before] = options_.selection;
  auto text = options_.kind.resource();
  if (!ns.empty()) text += " in namespace " + ns;
  if (!labels.empty()) text += " with labels " + labels;
  if (!fields.empty()) text += " with " + fields;
  return text;
}

}  // namespace tranche::cluster
