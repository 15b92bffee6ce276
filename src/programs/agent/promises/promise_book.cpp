#include "agent/promises/promise_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "offer/promises.h"

namespace tranche::agent {
namespace {

// Kubelet has the answer of Allocate, and its books name the container, no later than this after
// the grant. Before that its checkpoint may name an earlier container with the same id.
constexpr std::chrono::seconds kAnswered{1};

std::string device_of(std::string_view id) { return std::string(offer::device_uuid_of(id)); }

bool is(const offer::Promise& promise, const config::ResourceName& resource, std::string_view id) {
  return promise.resource == resource && promise.id == id;
}

offer::Promise promise_of(const offer::Grant& grant, const std::string& id) {
  offer::Promise promise{.resource = grant.resource,
                         .id = id,
                         .use = offer::use_of(grant, id),
                         .tenant = grant.tenant};
  if (grant.limits) promise.part = enforced_part(*grant.limits, offer::device_uuid_of(id));
  return promise;
}

std::string pod_of(const cluster::HeldDevices& held) {
  return held.pod_name.empty() ? "" : fmt::format("{}/{}", held.pod_namespace, held.pod_name);
}

template <class Names>
Names named_by(const std::vector<cluster::HeldDevices>& held) {
  Names names;
  for (const auto& holder : held) {
    for (const auto& id : holder.ids) {
      names.insert_or_assign({holder.resource, id}, pod_of(holder));
    }
  }
  return names;
}

// The text reaches users by kubelet, as the message of the Pod that failed.
Error refusal(const offer::Grant& grant, const std::vector<offer::Promise>& by) {
  std::set<std::string_view> resources;
  for (const auto& promise : by) resources.insert(promise.resource.value);
  return {Code::kFailedPrecondition,
          fmt::format("invalid allocation request for \"{}\": {} is held as {} by {}",
                      grant.resource.value, offer::device_uuid_of(by.front().id),
                      *resources.begin(), offer::describe_holders(by)),
          "it is free when they have ended"};
}

}  // namespace

// How long ago the grant was given. Of an earlier agent's the wall clock tells; it may be wrong, so
// the time in this book counts at least.
std::chrono::milliseconds PromiseBook::age_of(const Entry& entry, TimePoint now) const {
  using std::chrono::milliseconds;
  const auto here = std::chrono::floor<milliseconds>(now - entry.given);
  if (!entry.earlier_ms) return here;
  return std::max(here, milliseconds(unix_time_ms() - *entry.earlier_ms));
}

PromiseBook::PromiseBook(const Clock& clock, std::function<void()> misfit)
    : clock_(clock), misfit_(std::move(misfit)) {}

void PromiseBook::restore(std::span<const offer::GrantRecord> records) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [grant, granted_at_ms] : records) {
    for (const auto& id : grant.ids) {
      put({.promise = promise_of(grant, id), .given = clock_.now(), .earlier_ms = granted_at_ms});
    }
  }
}

Result<void> PromiseBook::admit(const offer::Grant& grant) {
  bool misfit = false;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto by = against(grant); !by.empty()) return std::unexpected(refusal(grant, by));
    for (const auto& id : grant.ids) {
      put({.promise = promise_of(grant, id), .given = kNotYet});
    }
    misfit = !fits(grant);
  }
  if (misfit && misfit_) misfit_();
  return {};
}

void PromiseBook::give(const offer::Grant& grant) {
  const auto now = clock_.now();
  const std::scoped_lock lock(mutex_);
  for (const auto& id : grant.ids) {
    if (auto* entry = find(grant.resource, id)) entry->given = now;
  }
}

void PromiseBook::withdraw(const offer::Grant& grant) {
  const std::scoped_lock lock(mutex_);
  for (const auto& id : grant.ids) take_out(grant.resource, id);
}

// The promises that keep the grant from being given.
std::vector<offer::Promise> PromiseBook::against(const offer::Grant& grant) const {
  std::vector<offer::Promise> found;
  if (!enforced_) return found;
  std::string counted;
  for (const auto& id : grant.ids) {
    add_conflicts(grant, id, found);
    auto uuid = device_of(id);
    if (uuid == counted) continue;
    if (offer::is_replica_id(id)) add_crowd(grant, uuid, found);
    counted = std::move(uuid);
  }
  return found;
}

void PromiseBook::add_conflicts(const offer::Grant& grant, const std::string& id,
                                std::vector<offer::Promise>& found) const {
  const auto uuid = device_of(id);
  const auto use = offer::use_of(grant, id);
  if (const auto held = held_.find(uuid); held != held_.end()) {
    for (const auto& [promise, given, earlier_ms, heard] : held->second) {
      // Kubelet gives an id again only when its last holder is gone, or to a container of the same
      // Pod.
      if (is(promise, grant.resource, id)) continue;
      if (promise.resource == grant.resource && offer::follows(promise.use, use)) continue;
      const bool both_whole = use == offer::Use::kWhole && promise.use == use;
      if (both_whole || offer::at_odds(promise.use, use)) found.push_back(promise);
    }
  }
  const auto related = related_.find(uuid);
  if (related == related_.end()) return;
  for (const auto& other : related->second) {
    const auto held = held_.find(other);
    if (held == held_.end()) continue;
    for (const auto& entry : held->second) found.push_back(entry.promise);
  }
}

// A device that is shared under two names counts the holders of both.
void PromiseBook::add_crowd(const offer::Grant& grant, const std::string& uuid,
                            std::vector<offer::Promise>& found) const {
  const auto offered = offered_.find(uuid);
  const auto held = held_.find(uuid);
  if (offered == offered_.end() || offered->second.resource != grant.resource ||
      held == held_.end()) {
    return;
  }
  std::vector<const offer::Promise*> others;
  for (const auto& entry : held->second) {
    if (entry.promise.resource != grant.resource) others.push_back(&entry.promise);
  }
  if (others.empty()) return;
  std::set<std::string_view> own;
  for (const auto& entry : held->second) {
    if (entry.promise.resource == grant.resource) own.insert(entry.promise.id);
  }
  for (const auto& id : grant.ids) {
    if (offer::device_uuid_of(id) == uuid) own.insert(id);
  }
  if (own.size() <= offer::tranches_beside(offered->second.room, others)) return;
  for (const auto* other : others) found.push_back(*other);
}

// Whether the offer followed last hands this out.
bool PromiseBook::fits(const offer::Grant& grant) const {
  return std::ranges::all_of(grant.ids, [&](const std::string& id) {
    const auto offered = offered_.find(device_of(id));
    return offered != offered_.end() && offered->second.resource == grant.resource &&
           (offered->second.room.tranches > 1) == offer::is_replica_id(id);
  });
}

PromiseBook::Entry* PromiseBook::find(const config::ResourceName& resource, const std::string& id) {
  const auto held = held_.find(device_of(id));
  if (held == held_.end()) return nullptr;
  const auto found = std::ranges::find_if(
      held->second, [&](const Entry& one) { return is(one.promise, resource, id); });
  return found == held->second.end() ? nullptr : &*found;
}

void PromiseBook::put(Entry entry) {
  if (auto* same = find(entry.promise.resource, entry.promise.id)) {
    *same = std::move(entry);
  } else {
    held_[device_of(entry.promise.id)].push_back(std::move(entry));
  }
}

void PromiseBook::take_out(const config::ResourceName& resource, const std::string& id) {
  const auto found = held_.find(device_of(id));
  if (found == held_.end()) return;
  std::erase_if(found->second, [&](const Entry& one) { return is(one.promise, resource, id); });
}

bool PromiseBook::follow(const offer::Offer& offer, const gpu::Machine& machine, bool enforced) {
  decltype(offered_) offered;
  for (const auto& resource : offer.resources) {
    for (std::size_t i = 0; i < resource.devices.size(); ++i) {
      offered[resource.devices[i].uuid] = {resource.name, offer::room_of(resource, i)};
    }
  }
  decltype(gpus_) gpus;
  decltype(related_) related;
  for (const auto& gpu : machine.gpus) {
    const auto& uuid = gpu.uuid.value;
    gpus[uuid] = uuid;
    for (const auto& instance : gpu.mig_instances) {
      gpus[instance.uuid.value] = uuid;
      related[uuid].push_back(instance.uuid.value);
      related[instance.uuid.value].push_back(uuid);
    }
  }
  const std::scoped_lock lock(mutex_);
  const bool changed = offered != offered_ || enforced != enforced_;
  offered_ = std::move(offered);
  gpus_ = std::move(gpus);
  related_ = std::move(related);
  enforced_ = enforced;
  return changed;
}

std::vector<offer::Promise> PromiseBook::all() const {
  std::vector<offer::Promise> promises;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uuid, entries] : held_) {
    const auto gpu = gpu_of(uuid);
    for (const auto& entry : entries) {
      promises.push_back(entry.promise);
      promises.back().gpu_uuid = gpu;
    }
  }
  return promises;
}

void PromiseBook::keep(std::span<const offer::Promise> promises) {
  const std::scoped_lock lock(mutex_);
  for (const auto& promise : promises) {
    if (auto* entry = find(promise.resource, promise.id)) entry->promise.part = promise.part;
  }
}

PromiseBook::Heard PromiseBook::hear(const HolderAnswer& answer) {
  Heard heard;
  const auto listed = named_by<Named>(answer.listed);
  const auto remembered = answer.remembered ? named_by<Named>(*answer.remembered) : Named();
  const std::scoped_lock lock(mutex_);
  for (auto& [uuid, entries] : held_) {
    std::erase_if(entries,
                  [&](Entry& entry) { return is_over(entry, answer, listed, remembered, heard); });
  }
  std::erase_if(held_, [](const auto& device) { return device.second.empty(); });
  heard.came = add_unknown(answer.listed);
  if (answer.remembered && add_unknown(*answer.remembered)) heard.came = true;
  return heard;
}

bool PromiseBook::is_over(Entry& entry, const HolderAnswer& answer, const Named& listed,
                          const Named& remembered, Heard& heard) const {
  const std::pair<std::string_view, std::string_view> key(entry.promise.resource.value,
                                                          entry.promise.id);
  // An answer says nothing of a grant that is given meanwhile.
  if (entry.given > answer.began) {
    heard.unclear = true;
    return false;
  }
  if (const auto found = listed.find(key); found != listed.end()) {
    entry.heard = true;
    if (entry.promise.pod != found->second) heard.changed = true;
    entry.promise.pod = found->second;
    return false;
  }
  if (remembered.contains(key)) entry.heard = true;
  const bool settled = age_of(entry, answer.began) >= (entry.heard ? kAnswered : kSettle);
  if (!answer.remembered || remembered.contains(key) || !settled) {
    heard.unclear = true;
    return false;
  }
  heard.changed = true;
  return true;
}

void PromiseBook::learn(const std::vector<cluster::HeldDevices>& remembered) {
  const std::scoped_lock lock(mutex_);
  add_unknown(remembered);
}

// True: there was something.
bool PromiseBook::add_unknown(const std::vector<cluster::HeldDevices>& held) {
  bool added = false;
  for (const auto& holder : held) {
    const config::ResourceName resource{holder.resource};
    for (const auto& id : holder.ids) {
      if (auto* known = find(resource, id)) {
        if (known->given != kNotYet) known->heard = true;
        continue;
      }
      if (!gpus_.contains(device_of(id))) continue;  // no GPU of this machine
      put({.promise =
               {.resource = resource, .id = id, .use = offer::use_of(id), .pod = pod_of(holder)},
           .given = clock_.now(),
           .earlier_ms = 0,
           .heard = true});
      added = true;
    }
  }
  return added;
}

bool PromiseBook::has_unheard() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(held_, [](const auto& device) {
    return std::ranges::any_of(device.second, [](const Entry& entry) { return !entry.heard; });
  });
}

// Empty: it is no device of the machine.
std::string PromiseBook::gpu_of(std::string_view uuid) const {
  const auto found = gpus_.find(std::string(uuid));
  return found == gpus_.end() ? std::string() : found->second;
}

std::int64_t PromiseBook::unix_time_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall_now().time_since_epoch())
      .count();
}

}  // namespace tranche::agent
