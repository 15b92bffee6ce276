#include "agent/holdings/grant_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "holdings/holdings.h"
#include "offer/withholding.h"

namespace tranche::agent {
namespace {

// Within this time after the grant kubelet has Allocate's answer and lists the container. Before
// that its checkpoint may name an earlier container with the same id.
constexpr std::chrono::seconds kAnswered{1};

std::string device_of(std::string_view id) { return std::string(offer::device_uuid_of(id)); }

bool is(const holdings::Holding& holding, const config::ResourceName& resource,
        std::string_view id) {
  return holding.resource == resource && holding.id == id;
}

holdings::Holding holding_of(const offer::Grant& grant, const std::string& id) {
  holdings::Holding holding{.device = device_of(id),
                            .resource = grant.resource,
                            .id = id,
                            .tenant = grant.tenant,
                            .use = offer::use_of(grant, id)};
  if (grant.limits) holding.part = enforced_part(*grant.limits, holding.device);
  return holding;
}

template <class Names>
Names named_by(const std::vector<cluster::HeldDevices>& held) {
  Names names;
  for (const auto& holder : held) {
    for (const auto& id : holder.ids) names.insert_or_assign({holder.resource, id}, &holder);
  }
  return names;
}

// Kubelet has named the container. The checkpoint does not have its Pod.
void name(holdings::Holding& holding, const cluster::HeldDevices& holder) {
  holding.ns = holder.pod_namespace;
  holding.pod = holder.pod_name;
  holding.container = holder.container;
  holding.state = holder.pod_name.empty() ? holdings::State::kGiven : holdings::State::kInUse;
}

// Kubelet passes the text on to users, as the message of the failed Pod.
Error refusal(const offer::Grant& grant, const std::vector<holdings::Holding>& by) {
  std::set<std::string_view> resources;
  for (const auto& one : by) resources.insert(one.resource.value);
  return {Code::kFailedPrecondition,
          fmt::format("invalid allocation request for \"{}\": {} is held as {} by {}",
                      grant.resource.value, by.front().device, *resources.begin(),
                      holdings::describe_holders(by)),
          "it is free when they have ended"};
}

}  // namespace

// The age of the grant. For an earlier agent's it comes from the wall clock, which may be wrong; it
// is at least the time in this book.
std::chrono::milliseconds GrantEntries::age_of(const Entry& entry, TimePoint now) const {
  using std::chrono::milliseconds;
  const auto here = std::chrono::floor<milliseconds>(now - entry.given);
  if (!entry.earlier_ms) return here;
  return std::max(here, milliseconds(unix_time_ms() - *entry.earlier_ms));
}

void GrantEntries::restore(std::span<const offer::GrantRecord> records) {
  for (const auto& [grant, granted_at_ms] : records) {
    for (const auto& id : grant.ids) {
      put({.holding = holding_of(grant, id), .given = clock_.now(), .earlier_ms = granted_at_ms});
    }
  }
}

std::vector<holdings::Holding> GrantEntries::wanted_by(const offer::Grant& grant) {
  std::vector<holdings::Holding> wanted;
  wanted.reserve(grant.ids.size());
  for (const auto& id : grant.ids) {
    wanted.push_back(holding_of(grant, id));
    wanted.back().state = holdings::State::kReserved;
  }
  return wanted;
}

Result<void> GrantEntries::check(const offer::Grant& grant,
                                 std::span<const holdings::Holding> wanted) const {
  if (!followed_.enforced) return {};
  std::vector<holdings::Holding> against;
  const std::string* counted = nullptr;
  for (const auto& one : wanted) {
    add_conflicts(one, against);
    if (counted != nullptr && one.device == *counted) continue;
    if (offer::is_replica_id(one.id)) add_crowd(grant, one.device, against);
    counted = &one.device;
  }
  if (!against.empty()) return std::unexpected(refusal(grant, against));
  return {};
}

void GrantEntries::enter(std::vector<holdings::Holding> wanted) {
  for (auto& holding : wanted) {
    if (!past_.empty()) past_.erase({holding.resource.value, holding.id});
    put({.holding = std::move(holding), .given = kNotYet});
  }
}

void GrantEntries::commit(const offer::Grant& grant) {
  const auto now = clock_.now();
  for (const auto& id : grant.ids) {
    auto* const entry = find(grant.resource, id);
    if (entry == nullptr) continue;
    all_.reset();
    entry->given = now;
    entry->holding.state = holdings::State::kGiven;
  }
}

void GrantEntries::withdraw(const offer::Grant& grant) {
  for (const auto& id : grant.ids) take_out(grant.resource, id);
}

void GrantEntries::add_conflicts(const holdings::Holding& wanted,
                                 std::vector<holdings::Holding>& found) const {
  const auto& uuid = wanted.device;
  if (const auto held = held_.find(uuid); held != held_.end()) {
    for (const auto& entry : held->second) {
      if (holdings::excludes(entry.holding, wanted)) found.push_back(entry.holding);
    }
  }
  for (const auto& other : followed_.silicon.overlapping(uuid)) {
    const auto held = held_.find(other);
    if (held == held_.end()) continue;
    for (const auto& entry : held->second) found.push_back(entry.holding);
  }
}

// A device shared under two names has the holders of both.
void GrantEntries::add_crowd(const offer::Grant& grant, const std::string& uuid,
                             std::vector<holdings::Holding>& found) const {
  const auto offered = followed_.offered.find(uuid);
  const auto held = held_.find(uuid);
  if (offered == followed_.offered.end() || offered->second.resource != grant.resource ||
      held == held_.end()) {
    return;
  }
  std::vector<const holdings::Holding*> others;
  for (const auto& entry : held->second) {
    if (entry.holding.resource != grant.resource) others.push_back(&entry.holding);
  }
  if (others.empty()) return;
  std::set<std::string_view> own;
  for (const auto& entry : held->second) {
    if (entry.holding.resource == grant.resource) own.insert(entry.holding.id);
  }
  for (const auto& id : grant.ids) {
    if (offer::device_uuid_of(id) == uuid) own.insert(id);
  }
  if (own.size() <= offer::tranches_next_to(offered->second.room, others)) return;
  for (const auto* other : others) found.push_back(*other);
}

bool GrantEntries::fits(const offer::Grant& grant) const {
  return std::ranges::all_of(grant.ids, [&](const std::string& id) {
    const auto offered = followed_.offered.find(device_of(id));
    return offered != followed_.offered.end() && offered->second.resource == grant.resource &&
           (offered->second.room.tranches > 1) == offer::is_replica_id(id);
  });
}

GrantEntries::Entry* GrantEntries::find(const config::ResourceName& resource,
                                        const std::string& id) {
  const auto held = held_.find(device_of(id));
  if (held == held_.end()) return nullptr;
  const auto found = std::ranges::find_if(
      held->second, [&](const Entry& one) { return is(one.holding, resource, id); });
  return found == held->second.end() ? nullptr : &*found;
}

void GrantEntries::put(Entry entry) {
  all_.reset();
  if (auto* same = find(entry.holding.resource, entry.holding.id)) {
    *same = std::move(entry);
  } else {
    held_[entry.holding.device].push_back(std::move(entry));
  }
}

void GrantEntries::take_out(const config::ResourceName& resource, const std::string& id) {
  const auto found = held_.find(device_of(id));
  if (found == held_.end()) return;
  all_.reset();
  std::erase_if(found->second, [&](const Entry& one) { return is(one.holding, resource, id); });
}

GrantEntries::Followed GrantEntries::Followed::make(const offer::Offer& offer,
                                                    const gpu::Machine& machine, bool enforced) {
  Followed followed{.silicon = holdings::Silicon(machine), .enforced = enforced};
  for (const auto& resource : offer.resources) {
    for (std::size_t i = 0; i < resource.devices.size(); ++i) {
      followed.offered[resource.devices[i].uuid] = {resource.name, offer::room_of(resource, i)};
    }
  }
  return followed;
}

bool GrantEntries::follow(Followed followed) {
  const bool changed =
      followed.offered != followed_.offered || followed.enforced != followed_.enforced;
  if (followed.silicon != followed_.silicon) all_.reset();
  followed_ = std::move(followed);
  return changed;
}

holdings::Holding GrantEntries::with_gpu(const holdings::Holding& holding) const {
  auto one = holding;
  one.gpu = gpu_of(one.device);
  return one;
}

GrantEntries::Shared GrantEntries::all() const {
  if (all_ != nullptr) return all_;
  std::vector<holdings::Holding> all;
  for (const auto& [uuid, entries] : held_) {
    for (const auto& entry : entries) all.push_back(with_gpu(entry.holding));
  }
  std::ranges::sort(all, {}, [](const auto& one) { return std::tie(one.resource.value, one.id); });
  // Kubelet's next answer mostly says the same: whoever compares pointers sees no change.
  if (last_ == nullptr || *last_ != all) {
    last_ = std::make_shared<const std::vector<holdings::Holding>>(std::move(all));
  }
  return all_ = last_;
}

std::vector<holdings::Holding> GrantEntries::on(const std::set<std::string>& uuids) const {
  std::vector<holdings::Holding> found;
  for (const auto& uuid : uuids) {
    const auto held = held_.find(uuid);
    if (held == held_.end()) continue;
    for (const auto& entry : held->second) found.push_back(with_gpu(entry.holding));
  }
  return found;
}

void GrantEntries::keep(std::span<const holdings::Holding> kept) {
  for (const auto& one : kept) {
    auto* const entry = find(one.resource, one.id);
    if (entry == nullptr || entry->holding.part == one.part) continue;
    all_.reset();
    entry->holding.part = one.part;
  }
}

GrantEntries::Changes GrantEntries::apply(const HolderAnswer& answer) {
  Changes changes;
  all_.reset();
  const auto listed = named_by<Named>(answer.listed);
  const auto remembered = answer.remembered ? named_by<Named>(*answer.remembered) : Named();
  for (auto& [uuid, entries] : held_) {
    std::erase_if(entries, [&](Entry& entry) {
      const bool over = is_over(entry, answer, listed, remembered, changes);
      if (over) remember(entry.holding);
      return over;
    });
  }
  std::erase_if(held_, [](const auto& device) { return device.second.empty(); });
  changes.came = add_unknown(answer.listed);
  if (answer.remembered && add_unknown(*answer.remembered)) changes.came = true;
  return changes;
}

bool GrantEntries::is_over(Entry& entry, const HolderAnswer& answer, const Named& listed,
                           const Named& remembered, Changes& changes) const {
  const std::pair<std::string_view, std::string_view> key(entry.holding.resource.value,
                                                          entry.holding.id);
  // An answer says nothing about a grant made meanwhile.
  if (entry.given > answer.began) {
    changes.unclear = true;
    return false;
  }
  if (const auto found = listed.find(key); found != listed.end()) {
    entry.named = true;
    const auto& holder = *found->second;
    const bool same =
        entry.holding.ns == holder.pod_namespace && entry.holding.pod == holder.pod_name;
    if (!same) changes.changed = true;
    name(entry.holding, holder);
    return false;
  }
  if (remembered.contains(key)) entry.named = true;
  const bool settled = age_of(entry, answer.began) >= (entry.named ? kAnswered : kSettle);
  if (!answer.remembered || remembered.contains(key) || !settled) {
    changes.unclear = true;
    return false;
  }
  changes.changed = true;
  return true;
}

void GrantEntries::learn(const std::vector<cluster::HeldDevices>& remembered) {
  add_unknown(remembered);
}

void GrantEntries::remember(holdings::Holding holding) {
  const auto now = clock_.now();
  std::erase_if(past_, [&](const auto& one) { return now - one.second.over > kRemember; });
  if (holding.tenant.empty()) return;
  Key key(holding.resource.value, holding.id);
  past_.insert_or_assign(std::move(key), Past{std::move(holding), now});
}

// What is known of an id that kubelet names and the book lacks.
holdings::Holding GrantEntries::known(const config::ResourceName& resource, const std::string& id) {
  const auto past = past_.find({resource.value, id});
  if (past != past_.end() && clock_.now() - past->second.over <= kRemember) {
    return past->second.holding;
  }
  return {.device = device_of(id), .resource = resource, .id = id, .use = offer::use_of(id)};
}

// True: something was added.
bool GrantEntries::add_unknown(const std::vector<cluster::HeldDevices>& held) {
  bool added = false;
  for (const auto& holder : held) {
    const config::ResourceName resource{holder.resource};
    for (const auto& id : holder.ids) {
      if (auto* entry = find(resource, id)) {
        if (entry->given != kNotYet) entry->named = true;
        continue;
      }
      if (!followed_.silicon.has(device_of(id))) continue;  // no GPU of this machine
      auto one = known(resource, id);
      name(one, holder);
      put({.holding = std::move(one), .given = clock_.now(), .earlier_ms = 0, .named = true});
      added = true;
    }
  }
  return added;
}

bool GrantEntries::has_unnamed() const {
  return std::ranges::any_of(held_, [](const auto& device) {
    return std::ranges::any_of(device.second, [](const Entry& entry) { return !entry.named; });
  });
}

std::int64_t GrantEntries::unix_time_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock_.wall_now().time_since_epoch())
      .count();
}

}  // namespace tranche::agent
