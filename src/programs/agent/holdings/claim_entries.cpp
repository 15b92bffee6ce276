#include "agent/holdings/claim_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/formats/node_mode.h"

namespace tranche::agent {
namespace {

std::string name_of(const dra::PreparedClaim& claim) { return claim.ns + '/' + claim.name; }

holdings::Use use_of(const dra::PreparedDevice& device) {
  if (!device.mps.empty()) return holdings::Use::kMps;
  return device.share_id.empty() ? holdings::Use::kWhole : holdings::Use::kTimeSliced;
}

holdings::Holding holding_of(const dra::PreparedClaim& claim, const dra::PreparedDevice& device,
                             const GrantEntries& grants) {
  holdings::Holding holding{
      .device = device.uuid,
      .gpu = device.place ? device.place->gpu.value : grants.gpu_of(device.uuid),
      .wire = holdings::Wire::kClaim,
      .id = device.share_id.empty() ? device.device : device.device + '/' + device.share_id,
      .claim = claim.name,
      .request = device.request,
      .mps = device.mps,
      .tenant = dra::tenant_of(claim, device),
      .ns = claim.ns,
      .use = use_of(device)};
  if (device.limits && !device.limits->devices.empty()) {
    holding.part = device.limits->devices.front();
  }
  return holding;
}

}  // namespace

std::set<std::string> silicon_of(const dra::PreparedDevice& device,
                                 const holdings::Silicon& silicon) {
  if (!device.place) return silicon.of(device.uuid);
  if (device.uuid.empty()) return silicon.of(device.place->gpu.value);
  return {device.place->gpu.value, device.uuid};
}

Result<void> ClaimEntries::check_open() const {
  if (open_) return {};
  return fail(Code::kUnavailable,
              fmt::format("this node takes no claims: it is in mode {}",
                          cluster::name_of(cluster::NodeMode::kDevicePlugin)),
              fmt::format("delete the Pod, so that the scheduler looks for another node; or "
                          "label this one {}={}",
                          cluster::kModeLabel, cluster::name_of(cluster::NodeMode::kDra)));
}

void ClaimEntries::begin(const dra::PreparedClaim& claim, const gpu::Machine& machine) {
  put(claim, holdings::Silicon(machine), OnDisk::kNo);
}

void ClaimEntries::put(const dra::PreparedClaim& claim, const holdings::Silicon& silicon,
                       OnDisk on_disk) {
  Entry entry{.claim = claim, .uuids = {}, .stored = on_disk == OnDisk::kYes};
  for (const auto& device : claim.devices) {
    if (!device.admin_access) entry.uuids.merge(silicon_of(device, silicon));
  }
  entries_.insert_or_assign(claim.uid, std::move(entry));
  ++version_;
}

void ClaimEntries::stored(const dra::PreparedClaim& claim, const gpu::Machine& machine) {
  const auto entry = entries_.find(claim.uid);
  if (entry == entries_.end()) return;
  unreadable_.erase(claim.uid);
  const bool was_stored = std::exchange(entry->second.stored, true);
  const auto trouble = std::exchange(entry->second.trouble, {});
  if (entry->second.claim != claim) {
    put(claim, holdings::Silicon(machine), OnDisk::kYes);
  } else if (!was_stored || !trouble.empty()) {
    ++version_;
  }
}

void ClaimEntries::failed(const std::string& uid, std::string trouble) {
  const auto entry = entries_.find(uid);
  if (entry == entries_.end() || entry->second.trouble == trouble) return;
  entry->second.trouble = std::move(trouble);
  ++version_;
}

std::uint64_t ClaimEntries::enter(const std::string& uid) {
  calls_.emplace(uid, ++last_call_);
  return last_call_;
}

bool ClaimEntries::stands(const std::string& uid, std::uint64_t call) const {
  return calls_.contains({uid, call});
}

void ClaimEntries::leave(const std::string& uid, std::uint64_t call) { calls_.erase({uid, call}); }

// Another call for the same claim may have reserved it again.
void ClaimEntries::withdraw(const std::string& uid, std::uint64_t call) {
  const bool others = std::ranges::any_of(
      calls_, [&](const auto& one) { return one.first == uid && one.second != call; });
  const auto entry = entries_.find(uid);
  if (entry == entries_.end() || entry->second.stored || others) return;
  entries_.erase(entry);
  ++version_;
}

void ClaimEntries::end(const std::string& uid) {
  entries_.erase(uid);
  unreadable_.erase(uid);
  std::erase_if(calls_, [&](const auto& one) { return one.first == uid; });
  ++version_;
}

void ClaimEntries::restore(const std::map<std::string, dra::PreparedClaim>& claims,
                           const gpu::Machine& machine, std::set<std::string> unreadable) {
  unreadable_ = std::move(unreadable);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.stored; });
  const holdings::Silicon silicon(machine);
  for (const auto& [uid, claim] : claims) put(claim, silicon, OnDisk::kYes);
  ++version_;
  restored_ = true;
}

std::vector<holdings::Holding> ClaimEntries::all(const GrantEntries& grants) const {
  std::vector<holdings::Holding> all;
  for (const auto& [uid, entry] : entries_) {
    for (const auto& device : entry.claim.devices) {
      if (device.admin_access) continue;
      all.push_back(holding_of(entry.claim, device, grants));
      if (!entry.stored) all.back().state = holdings::State::kReserved;
    }
  }
  return all;
}

std::vector<dra::PreparedClaim> ClaimEntries::claims() const {
  std::vector<dra::PreparedClaim> claims;
  for (const auto& [uid, entry] : entries_) claims.push_back(entry.claim);
  return claims;
}

std::vector<ClaimRecord> ClaimEntries::records() const {
  std::vector<ClaimRecord> records;
  for (const auto& [uid, entry] : entries_) {
    if (entry.stored) records.push_back({entry.claim, entry.trouble});
  }
  return records;
}

std::optional<std::string> ClaimEntries::claim_on(std::string_view uuid) const {
  for (const auto& [uid, entry] : entries_) {
    if (entry.uuids.contains(std::string(uuid))) return name_of(entry.claim);
  }
  return std::nullopt;
}

std::optional<std::vector<cluster::ObjectKey>> ClaimEntries::claims_of(
    const std::set<std::string>& uuids) const {
  const auto has_one = [&](const Entry& entry) {
    return std::ranges::any_of(entry.claim.devices, [&](const dra::PreparedDevice& device) {
      if (device.admin_access) return false;
      return uuids.contains(device.uuid) ||
             (device.place && uuids.contains(device.place->gpu.value));
    });
  };
  std::vector<cluster::ObjectKey> claims;
  if (!restored_ || !unreadable_.empty()) return std::nullopt;
  for (const auto& [uid, entry] : entries_) {
    if (has_one(entry)) claims.push_back({entry.claim.ns, entry.claim.name});
  }
  return claims;
}

}  // namespace tranche::agent
