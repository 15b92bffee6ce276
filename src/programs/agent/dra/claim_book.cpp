#include "agent/dra/claim_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/node_mode.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::milliseconds kLookAgain{500};

std::string name_of(const dra::PreparedClaim& claim) { return claim.ns + '/' + claim.name; }

}  // namespace

std::set<std::string> on_one_silicon(const gpu::Machine& machine, const std::string& uuid) {
  std::set<std::string> all{uuid};
  for (const auto& gpu : machine.gpus) {
    for (const auto& instance : gpu.mig_instances) {
      if (gpu.uuid.value == uuid) all.insert(instance.uuid.value);
      if (instance.uuid.value == uuid) all.insert(gpu.uuid.value);
    }
  }
  return all;
}

std::set<std::string> silicon_of(const dra::PreparedDevice& device, const gpu::Machine& machine) {
  if (!device.place) return on_one_silicon(machine, device.uuid);
  if (device.uuid.empty()) return on_one_silicon(machine, device.place->gpu.value);
  return {device.place->gpu.value, device.uuid};
}

void ClaimBook::open(bool open) {
  const std::scoped_lock lock(mutex_);
  open_ = open;
}

Result<void> ClaimBook::begin(const dra::PreparedClaim& claim, const gpu::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  if (!open_) {
    return fail(Code::kUnavailable,
                fmt::format("this node takes no claims: it is in mode {}",
                            cluster::name_of(cluster::NodeMode::kDevicePlugin)),
                fmt::format("delete the Pod, so that the scheduler looks for another node; or "
                            "label this one {}={}",
                            cluster::kModeLabel, cluster::name_of(cluster::NodeMode::kDra)));
  }
  put(claim, machine, false);
  return {};
}

void ClaimBook::put(const dra::PreparedClaim& claim, const gpu::Machine& machine, bool stored) {
  Entry entry{.claim = claim, .uuids = {}, .stored = stored};
  for (const auto& device : claim.devices) {
    if (!device.admin_access) entry.uuids.merge(silicon_of(device, machine));
  }
  entries_.insert_or_assign(claim.uid, std::move(entry));
  ++version_;
}

void ClaimBook::stored(const dra::PreparedClaim& claim, const gpu::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(claim.uid);
  if (entry == entries_.end()) return;
  const bool was_stored = std::exchange(entry->second.stored, true);
  const auto trouble = std::exchange(entry->second.trouble, {});
  if (entry->second.claim != claim) {
    put(claim, machine, true);
  } else if (!was_stored || !trouble.empty()) {
    ++version_;
  }
}

void ClaimBook::failed(const std::string& uid, std::string trouble) {
  const std::scoped_lock lock(mutex_);
  const auto entry = entries_.find(uid);
  if (entry == entries_.end() || entry->second.trouble == trouble) return;
  entry->second.trouble = std::move(trouble);
  ++version_;
}

std::uint64_t ClaimBook::enter(const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  calls_.emplace(uid, ++last_call_);
  return last_call_;
}

bool ClaimBook::stands(const std::string& uid, std::uint64_t call) const {
  const std::scoped_lock lock(mutex_);
  return calls_.contains({uid, call});
}

void ClaimBook::leave(const std::string& uid, std::uint64_t call) {
  const std::scoped_lock lock(mutex_);
  calls_.erase({uid, call});
}

// Another call for the same claim may have begun it anew.
void ClaimBook::withdraw(const std::string& uid, std::uint64_t call) {
  const std::scoped_lock lock(mutex_);
  const bool others = std::ranges::any_of(
      calls_, [&](const auto& one) { return one.first == uid && one.second != call; });
  const auto entry = entries_.find(uid);
  if (entry == entries_.end() || entry->second.stored || others) return;
  entries_.erase(entry);
  ++version_;
}

void ClaimBook::end(const std::string& uid) {
  {
    const std::scoped_lock lock(mutex_);
    entries_.erase(uid);
    std::erase_if(calls_, [&](const auto& one) { return one.first == uid; });
    ++version_;
  }
  changed_.notify_all();
}

std::uint64_t ClaimBook::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

bool ClaimBook::await_change(std::uint64_t version,
                             std::chrono::steady_clock::time_point end) const {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (stopped_ || now >= end) return false;
  changed_.wait_until(lock, std::min(end, now + kLookAgain),
                      [&] { return stopped_ || version_ != version; });
  return !stopped_;
}

void ClaimBook::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

void ClaimBook::restore(const std::map<std::string, dra::PreparedClaim>& claims,
                        const gpu::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.stored; });
  for (const auto& [uid, claim] : claims) put(claim, machine, true);
  ++version_;
  restored_ = true;
}

bool ClaimBook::restored() const {
  const std::scoped_lock lock(mutex_);
  return restored_;
}

std::vector<dra::PreparedClaim> ClaimBook::all() const {
  std::vector<dra::PreparedClaim> claims;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, entry] : entries_) claims.push_back(entry.claim);
  return claims;
}

std::vector<ClaimRecord> ClaimBook::records() const {
  std::vector<ClaimRecord> records;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, entry] : entries_) {
    if (entry.stored) records.push_back({entry.claim, entry.trouble});
  }
  return records;
}

std::optional<std::string> ClaimBook::holder_of(std::string_view uuid) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, entry] : entries_) {
    if (entry.uuids.contains(std::string(uuid))) return name_of(entry.claim);
  }
  return std::nullopt;
}

std::optional<std::vector<cluster::ObjectKey>> ClaimBook::on(
    const std::set<std::string>& uuids) const {
  const auto has_one = [&](const Entry& entry) {
    return std::ranges::any_of(entry.claim.devices, [&](const dra::PreparedDevice& device) {
      if (device.admin_access) return false;
      return uuids.contains(device.uuid) ||
             (device.place && uuids.contains(device.place->gpu.value));
    });
  };
  std::vector<cluster::ObjectKey> claims;
  const std::scoped_lock lock(mutex_);
  if (!restored_) return std::nullopt;
  for (const auto& [uid, entry] : entries_) {
    if (has_one(entry)) claims.push_back({entry.claim.ns, entry.claim.name});
  }
  return claims;
}

std::map<std::string, std::string> ClaimBook::held() const {
  std::map<std::string, std::string> held;
  const std::scoped_lock lock(mutex_);
  for (const auto& [uid, entry] : entries_) {
    for (const auto& uuid : entry.uuids) held.emplace(uuid, name_of(entry.claim));
  }
  return held;
}

}  // namespace tranche::agent
