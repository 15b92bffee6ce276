#include "support/fake_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "support/fake_ownership.h"
#include "support/fake_patches.h"
#include "support/fake_selectors.h"

namespace tranche::test {
namespace {

using namespace cluster;
using nlohmann::json;

std::unexpected<Error> conflict(std::string why) {
  return fail(Code::kFailedPrecondition, std::move(why), "read it again");
}

Object object_of(const json& value) {
  auto parsed = parse_object(value.dump());
  return parsed ? *std::move(parsed) : Object();
}

bool has_status(const Kind& kind) {
  return kind == kNode || kind == kPod || kind == kDaemonSet || kind == kClusterPolicy ||
         kind == kCustomResourceDefinition || kind == kResourceQuota || kind == kGpuNode;
}

// Kinds whose changes of spec are counted.
bool has_generation(const Kind& kind) {
  return kind == kDaemonSet || kind == kClusterPolicy || kind == kNodeFeature ||
         kind == kCustomResourceDefinition;
}

// Kinds that the API server updates only with a version from the caller.
bool needs_version(const Kind& kind) {
  return kind == kLease || kind == kClusterPolicy || kind == kNodeFeature ||
         kind == kCustomResourceDefinition;
}

json without(json value, const std::vector<std::string>& keys) {
  for (const auto& key : keys) value.erase(key);
  return value;
}

std::string manager_of(const Call& call) {
  return (call.field_manager.empty() ? "tranche" : call.field_manager) + "/update";
}

// What a write leaves alone: the status, or everything else.
json keep_other_part(const Kind& kind, const json& before, json after,
                     const std::string& subresource) {
  if (subresource == "status") {
    json result = before;
    if (after.contains("status")) result["status"] = after["status"];
    // As kubelet uses it: a Node's labels and annotations are written with its status.
    for (const auto* const key : {"labels", "annotations"}) {
      if (kind != kNode) break;
      if (after["metadata"].contains(key)) {
        result["metadata"][key] = after["metadata"][key];
      } else {
        result["metadata"].erase(key);
      }
    }
    return result;
  }
  if (!has_status(kind)) return after;
  after.erase("status");
  if (before.contains("status")) after["status"] = before["status"];
  return after;
}

std::uint64_t number(const std::string& version) {
  return version.empty() ? 0 : std::strtoull(version.c_str(), nullptr, 10);
}

}  // namespace

struct FakeObjects::State {
  using Id = std::pair<std::string, ObjectKey>;  // Kind::resource(), and which
  struct Stored {
    json object;
    Ownership owners;
  };
  // A change: null before it was created, null after it was deleted.
  struct Change {
    std::uint64_t version;
    std::string resource;
    json before;
    json after;
  };
  struct Refusal {
    std::string verb;
    std::string resource;
    Error error;
    int times;
  };

  mutable std::mutex mutex;
  std::condition_variable_any changed;
  std::map<Id, Stored> stored;
  std::deque<Change> history;
  std::deque<Refusal> refusals;
  std::set<std::string> not_served;
  std::set<std::string> held;
  std::vector<std::string> calls;
  std::uint64_t version = 100;
  std::uint64_t compacted = 0;  // versions before it are too old
  std::uint64_t ended = 0;      // counts close_watches()
  std::uint64_t bookmarks = 0;  // counts send_bookmarks()
  std::size_t watches = 0;
  std::uint64_t made = 0;
  Reviewer reviewer;

  // The beginning of each call: it is recorded, and refused if a test wants so.
  Result<void> begin(const std::string& verb, const Kind& kind, const std::string& what,
                     const Call& call = {}) {
    calls.push_back(fmt::format("{} {}{}{}", verb, kind.resource(), what.empty() ? "" : " ", what));
    if (call.stop.stop_requested()) return fail(Code::kUnavailable, calls.back() + ": stopped");
    for (auto refusal = refusals.begin(); refusal != refusals.end(); ++refusal) {
      if (refusal->resource != kind.resource()) continue;
      if (!refusal->verb.empty() && refusal->verb != verb) continue;
      auto error = refusal->error;
      if (refusal->times > 0 && --refusal->times == 0) refusals.erase(refusal);
      return std::unexpected(std::move(error));
    }
    if (not_served.contains(kind.resource())) {
      return fail(Code::kNotFound, calls.back() + ": the server does not serve this kind");
    }
    return {};
  }

  Result<Stored*> find(const Kind& kind, const ObjectKey& key) {
    const auto found = stored.find({kind.resource(), key});
    if (found != stored.end()) return &found->second;
    return fail(Code::kNotFound, fmt::format("{} {} not found", kind.resource(), key.to_string()));
  }

  // Stores `after` as a new version, where it differs.
  Object write(const Kind& kind, const ObjectKey& key, json after, Ownership owners) {
    auto& entry = stored[{kind.resource(), key}];
    auto& metadata = after["metadata"];
    const json old = entry.object;
    const auto none = json::object();
    const auto& before = old.is_object() ? old.at("metadata") : none;
    if (old.is_object()) metadata["uid"] = before.at("uid");
    if (!metadata.contains("uid")) {
      metadata["uid"] = fmt::format("00000000-0000-0000-0000-{:012d}", ++made);
    }
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z";
    if (before.contains("resourceVersion")) metadata["resourceVersion"] = before["resourceVersion"];
    if (has_generation(kind)) {
      const auto keys = std::vector<std::string>{"metadata", "status"};
      const bool same = old.is_object() && without(old, keys) == without(after, keys);
      metadata["generation"] = before.value("generation", 0) + (same ? 0 : 1);
    }
    if (old == after && entry.owners == owners) return object_of(after);
    metadata["resourceVersion"] = std::to_string(++version);
    history.push_back({version, kind.resource(), old, after});
    entry = {std::move(after), std::move(owners)};
    changed.notify_all();
    return object_of(entry.object);
  }

  void drop(const Kind& kind, const ObjectKey& key) {
    const auto found = stored.find({kind.resource(), key});
    if (found == stored.end()) return;
    auto last = found->second.object;
    stored.erase(found);
    last["metadata"]["resourceVersion"] = std::to_string(++version);
    history.push_back({version, kind.resource(), std::move(last), nullptr});
    changed.notify_all();
  }

  // The events of the selection after `from`.
  Result<std::vector<WatchEvent>> events(const Kind& kind, const ListOptions& options,
                                         std::uint64_t from) const {
    std::vector<WatchEvent> events;
    for (const auto& change : history) {
      if (change.version <= from || change.resource != kind.resource()) continue;
      bool was = false;
      bool is = false;
      if (change.before.is_object()) {
        ASSIGN_OR_RETURN(was, selected(change.before, kind, options));
      }
      if (change.after.is_object()) {
        ASSIGN_OR_RETURN(is, selected(change.after, kind, options));
      }
      if (!was && !is) continue;
      auto last = is ? change.after : change.before;
      last["metadata"]["resourceVersion"] = std::to_string(change.version);
      const auto type = !was ? WatchEventType::kAdded
                             : (is ? WatchEventType::kModified : WatchEventType::kDeleted);
      events.push_back({type, object_of(last)});
    }
    return events;
  }
};

FakeObjects::FakeObjects() : state_(std::make_unique<State>()) {}
FakeObjects::~FakeObjects() = default;

Result<Object> FakeObjects::get(const Kind& kind, const ObjectKey& key, const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  TRY(state_->begin("get", kind, key.to_string(), call));
  ASSIGN_OR_RETURN(const auto* const stored, state_->find(kind, key));
  return object_of(stored->object);
}

Result<ObjectList> FakeObjects::list(const Kind& kind, const ListOptions& options,
                                     const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  const std::string from = options.not_before.empty() ? "" : " not before " + options.not_before;
  TRY(state_->begin("list", kind, options.ns + from, call));
  if (!options.not_before.empty() && std::stoull(options.not_before) > state_->version) {
    return fail(Code::kTimeout, "list: Too large resource version");
  }
  ObjectList list;
  list.resource_version = std::to_string(state_->version);
  for (const auto& [id, stored] : state_->stored) {
    if (id.first != kind.resource()) continue;
    ASSIGN_OR_RETURN(const bool in, selected(stored.object, kind, options));
    if (in) list.items.push_back(object_of(stored.object));
  }
  return list;
}

Result<WatchEnd> FakeObjects::watch(const Kind& kind, const WatchOptions& options,
                                    const WatchHandler& handler, std::stop_token stop) {
  auto& state = *state_;
  std::unique_lock lock(state.mutex);
  TRY(state.begin("watch", kind, options.resource_version));
  auto at = number(options.resource_version);
  if (!options.resource_version.empty() && at < state.compacted) return WatchEnd::kExpired;
  const auto ended = state.ended;
  auto bookmarks = state.bookmarks;
  ++state.watches;
  WatchEvent opening{WatchEventType::kBookmark, {}};
  opening.object.resource_version = options.resource_version;
  std::vector<WatchEvent> events{std::move(opening)};
  if (options.resource_version.empty()) at = state.version;
  std::optional<WatchEnd> end;
  Result<WatchEnd> result = WatchEnd::kStopped;
  while (true) {
    lock.unlock();
    for (auto& event : events) handler(std::move(event));
    events.clear();
    lock.lock();
    if (end) break;
    const bool told = state.changed.wait(lock, stop, [&] {
      if (state.held.contains(kind.resource())) return false;
      return state.version > at || state.ended != ended || state.compacted > at ||
             state.bookmarks != bookmarks || state.not_served.contains(kind.resource());
    });
    if (!told) break;
    if (state.compacted > at) {
      end = WatchEnd::kExpired;
    } else {
      auto news = state.events(kind, options.selection, at);
      if (!news) {
        result = std::unexpected(std::move(news).error());
        break;
      }
      events = *std::move(news);
      at = state.version;
    }
    if (state.bookmarks != bookmarks) {
      bookmarks = state.bookmarks;
      WatchEvent bookmark{WatchEventType::kBookmark, {}};
      bookmark.object.resource_version = std::to_string(at);
      events.push_back(std::move(bookmark));
    }
    if (state.ended != ended || state.not_served.contains(kind.resource())) {
      end = end.value_or(WatchEnd::kClosed);
    }
    if (end) result = *end;
  }
  --state.watches;
  return result;
}

Result<Object> FakeObjects::create(const Kind& kind, const std::string& ns, std::string_view text,
                                   const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  auto object = json::parse(text, nullptr, false);
  if (!object.is_object() || !object.value("metadata", json()).is_object()) {
    return fail(Code::kInvalidArgument, "create: no object");
  }
  auto& metadata = object["metadata"];
  if (!metadata.contains("name") && metadata.contains("generateName")) {
    metadata["name"] =
        fmt::format("{}{:05}", metadata["generateName"].get<std::string>(), ++state_->made);
  }
  const ObjectKey key{ns, metadata.value("name", "")};
  TRY(state_->begin("create", kind, key.to_string(), call));
  if (key.name.empty()) return fail(Code::kInvalidArgument, "create: metadata.name is missing");
  if (metadata.value("namespace", ns) != ns || (kind.namespaced && ns.empty())) {
    return fail(Code::kInvalidArgument, "create: the namespace of the object is not the call's");
  }
  if (metadata.contains("resourceVersion")) {
    return fail(Code::kInvalidArgument, "create: resourceVersion must not be set");
  }
  if (state_->stored.contains({kind.resource(), key})) {
    return fail(Code::kAlreadyExists, kind.resource() + ' ' + key.to_string() + " already exists");
  }
  if (!ns.empty()) metadata["namespace"] = ns;
  metadata.erase("uid");
  object["apiVersion"] = kind.api_version();
  object["kind"] = kind.kind;
  if (has_status(kind) && kind != kNode && kind != kPod) object.erase("status");
  Ownership owners;
  owners.changed(nullptr, object, manager_of(call));
  return state_->write(kind, key, std::move(object), std::move(owners));
}

Result<Object> FakeObjects::update(const Kind& kind, const ObjectKey& key, std::string_view text,
                                   const std::string& subresource, const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  TRY(state_->begin("update", kind, key.to_string(), call));
  auto after = json::parse(text, nullptr, false);
  if (!after.is_object() || !after.value("metadata", json()).is_object()) {
    return fail(Code::kInvalidArgument, "update: no object");
  }
  ASSIGN_OR_RETURN(auto* const stored, state_->find(kind, key));
  const auto& before = stored->object;
  auto& metadata = after["metadata"];
  if (metadata.value("name", "") != key.name || metadata.value("namespace", key.ns) != key.ns) {
    return fail(Code::kInvalidArgument, "update: the object's name is not the call's");
  }
  if (needs_version(kind) && !metadata.contains("resourceVersion")) {
    return fail(Code::kInvalidArgument, "update: metadata.resourceVersion must be given");
  }
  for (const auto* const field : {"resourceVersion", "uid"}) {
    const auto& is = before.at("metadata").at(field);
    if (metadata.value(field, is) != is)
      return conflict(fmt::format("update: {} is {}", field, is.dump()));
  }
  if (!key.ns.empty()) metadata["namespace"] = key.ns;
  after["apiVersion"] = kind.api_version();
  after["kind"] = kind.kind;
  after = keep_other_part(kind, before, std::move(after), subresource);
  auto owners = stored->owners;
  owners.changed(before, after, manager_of(call));
  return state_->write(kind, key, std::move(after), std::move(owners));
}

Result<Object> FakeObjects::patch(const Kind& kind, const ObjectKey& key, const Patch& patch,
                                  const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  TRY(state_->begin("patch", kind, key.to_string(), call));
  ASSIGN_OR_RETURN(auto* const stored, state_->find(kind, key));
  const auto& before = stored->object;
  if (patch.type == PatchType::kStrategic && !kind.group.empty() &&
      kind.group.find('.') != std::string_view::npos && !kind.group.ends_with("k8s.io")) {
    return fail(Code::kUnsupported, "patch: no strategic merge patch of a custom resource");
  }
  ASSIGN_OR_RETURN(auto after, patched(before, patch));
  const auto& was = before.at("metadata");
  const auto& is = after.at("metadata");
  if (is.value("name", "") != key.name) {
    return fail(Code::kInvalidArgument, "patch: the name must not change");
  }
  for (const auto* const field : {"resourceVersion", "uid"}) {
    if (is.value(field, was.at(field)) != was.at(field)) return conflict("patch: another version");
  }
  after = keep_other_part(kind, before, std::move(after), patch.subresource);
  auto owners = stored->owners;
  owners.changed(before, after, patch.field_manager + "/update");
  return state_->write(kind, key, std::move(after), std::move(owners));
}

Result<Object> FakeObjects::apply(const Kind& kind, const ObjectKey& key, const Apply& apply,
                                  const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  TRY(state_->begin("apply", kind, key.to_string(), call));
  const auto wanted = json::parse(apply.json, nullptr, false);
  if (!wanted.is_object() || wanted.value("kind", "") != kind.kind ||
      wanted.value("apiVersion", "") != kind.api_version()) {
    return fail(Code::kInvalidArgument, "apply: no object of this kind");
  }
  const auto metadata = wanted.value("metadata", json::object());
  if (metadata.value("name", "") != key.name || metadata.value("namespace", key.ns) != key.ns) {
    return fail(Code::kInvalidArgument, "apply: the object's name is not the call's");
  }
  const auto stored = state_->find(kind, key);
  if (!stored && !apply.subresource.empty()) return std::unexpected(stored.error());
  json before = {{"apiVersion", kind.api_version()}, {"kind", kind.kind}};
  before["metadata"]["name"] = key.name;
  if (!key.ns.empty()) before["metadata"]["namespace"] = key.ns;
  if (stored) before = (*stored)->object;
  const auto version = before["metadata"].value("resourceVersion", "");
  if (metadata.value("resourceVersion", version) != version) {
    return conflict("apply: another version");
  }
  auto owners = stored ? (*stored)->owners : Ownership();
  std::vector<std::string> conflicts;
  auto after = owners.apply(before, wanted, apply.field_manager + "/apply", apply.force, conflicts);
  if (!conflicts.empty()) {
    return conflict(fmt::format("apply: Apply failed with {} conflicts: conflicts with {}",
                                conflicts.size(), fmt::join(conflicts, "\n- ")));
  }
  after = keep_other_part(kind, before, std::move(after), apply.subresource);
  return state_->write(kind, key, std::move(after), std::move(owners));
}

Result<void> FakeObjects::remove(const Kind& kind, const ObjectKey& key,
                                 const Preconditions& preconditions, const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  TRY(state_->begin("remove", kind, key.to_string(), call));
  ASSIGN_OR_RETURN(const auto* const stored, state_->find(kind, key));
  const auto& metadata = stored->object.at("metadata");
  const auto uid = metadata.at("uid").get<std::string>();
  if (preconditions.uid.value_or(uid) != uid) {
    return conflict("remove: another object of that name");
  }
  const auto version = metadata.at("resourceVersion").get<std::string>();
  if (preconditions.resource_version.value_or(version) != version) {
    return conflict("remove: another version");
  }
  state_->drop(kind, key);
  return {};
}

Result<std::string> FakeObjects::review(const Kind& kind, std::string_view text, const Call& call) {
  Reviewer reviewer;
  {
    const std::scoped_lock lock(state_->mutex);
    TRY(state_->begin("review", kind, "", call));
    reviewer = state_->reviewer;
  }
  return reviewer ? reviewer(kind, text) : std::string("{}");
}

void FakeObjects::answer_reviews(Reviewer reviewer) {
  const std::scoped_lock lock(state_->mutex);
  state_->reviewer = std::move(reviewer);
}

Result<void> FakeObjects::evict(const ObjectKey& pod, const std::string& uid, const Call& call) {
  const std::scoped_lock lock(state_->mutex);
  TRY(state_->begin("evict", kPod, pod.to_string(), call));
  ASSIGN_OR_RETURN(const auto* const stored, state_->find(kPod, pod));
  if (stored->object.at("metadata").at("uid") != uid) {
    return conflict("evict: another Pod of that name");
  }
  state_->drop(kPod, pod);
  return {};
}

Object FakeObjects::put(const Kind& kind, std::string_view text) {
  const std::scoped_lock lock(state_->mutex);
  auto object = json::parse(text);
  auto& metadata = object.at("metadata");
  metadata.erase("resourceVersion");
  const ObjectKey key{metadata.value("namespace", ""), metadata.at("name").get<std::string>()};
  object["apiVersion"] = kind.api_version();
  object["kind"] = kind.kind;
  const auto stored = state_->find(kind, key);
  auto owners = stored ? (*stored)->owners : Ownership();
  owners.changed(stored ? (*stored)->object : json(), object, "somebody/update");
  return state_->write(kind, key, std::move(object), std::move(owners));
}

void FakeObjects::erase(const Kind& kind, const ObjectKey& key) {
  const std::scoped_lock lock(state_->mutex);
  state_->drop(kind, key);
}

std::string FakeObjects::text(const Kind& kind, const ObjectKey& key) const {
  const std::scoped_lock lock(state_->mutex);
  const auto found = state_->find(kind, key);
  return found ? (*found)->object.dump() : "";
}

void FakeObjects::refuse(const std::string& verb, const Kind& kind, Error error, int times) {
  const std::scoped_lock lock(state_->mutex);
  state_->refusals.push_back({verb, kind.resource(), std::move(error), times});
}

void FakeObjects::recover() {
  const std::scoped_lock lock(state_->mutex);
  state_->refusals.clear();
}

void FakeObjects::serve(const Kind& kind, bool served) {
  const std::scoped_lock lock(state_->mutex);
  if (served) {
    state_->not_served.erase(kind.resource());
  } else {
    state_->not_served.insert(kind.resource());
  }
  state_->changed.notify_all();
}

void FakeObjects::compact() {
  const std::scoped_lock lock(state_->mutex);
  state_->compacted = ++state_->version;
  state_->history.clear();
  state_->changed.notify_all();
}

void FakeObjects::close_watches() {
  const std::scoped_lock lock(state_->mutex);
  ++state_->ended;
  state_->changed.notify_all();
}

void FakeObjects::send_bookmarks() {
  const std::scoped_lock lock(state_->mutex);
  ++state_->bookmarks;
  state_->changed.notify_all();
}

void FakeObjects::hold_watches(const Kind& kind, bool held) {
  const std::scoped_lock lock(state_->mutex);
  if (held) {
    state_->held.insert(kind.resource());
  } else {
    state_->held.erase(kind.resource());
  }
  state_->changed.notify_all();
}

std::vector<std::string> FakeObjects::calls() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->calls;
}

std::ptrdiff_t FakeObjects::count_calls(const std::string& beginning) const {
  const std::scoped_lock lock(state_->mutex);
  return std::ranges::count_if(state_->calls,
                               [&](const auto& call) { return call.starts_with(beginning); });
}

std::size_t FakeObjects::open_watches() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->watches;
}

}  // namespace tranche::test
