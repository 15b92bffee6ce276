#include "agent/holdings/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "offer/offer.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::milliseconds kLookAgain{500};

}  // namespace

holdings::Holdings Book::all() const {
  const std::scoped_lock lock(mutex_);
  auto all = *grants_.all();
  std::ranges::move(claims_.all(grants_), std::back_inserter(all));
  std::ranges::copy(*ungranted_, std::back_inserter(all));
  return holdings::Holdings(std::move(all));
}

void Book::observe(std::vector<holdings::Holding> ungranted) {
  const std::scoped_lock lock(mutex_);
  for (auto& one : ungranted) {
    one.gpu = grants_.gpu_of(one.device);
    one.wire = holdings::Wire::kNone;
  }
  if (*ungranted_ == ungranted) return;
  ungranted_ = std::make_shared<const std::vector<holdings::Holding>>(std::move(ungranted));
}

GrantEntries::Shared Book::ungranted() const {
  const std::scoped_lock lock(mutex_);
  return ungranted_;
}

GrantEntries::Shared Book::granted() const {
  const std::scoped_lock lock(mutex_);
  return grants_.all();
}

std::optional<std::vector<holdings::Holding>> Book::claimed() const {
  const std::scoped_lock lock(mutex_);
  if (!claims_.restored() || !claims_.unreadable().empty()) return std::nullopt;
  return claims_.all(grants_);
}

void Book::on_misfit(std::function<void()> misfit) {
  const std::scoped_lock lock(mutex_);
  misfit_ = std::move(misfit);
}

void Book::restore(std::span<const offer::GrantRecord> records) {
  const std::scoped_lock lock(mutex_);
  grants_.restore(records);
}

Result<void> Book::reserve(const offer::Grant& grant) {
  std::function<void()> misfit;
  auto wanted = GrantEntries::wanted_by(grant);
  {
    const std::scoped_lock lock(mutex_);
    TRY(grants_.check(grant, wanted));
    TRY(check_claims(grant));
    grants_.enter(std::move(wanted));
    if (!grants_.fits(grant)) misfit = misfit_;
  }
  if (misfit) misfit();
  return {};
}

std::set<std::string> Book::leave_to_claims(
    const std::map<std::string, std::set<std::string>>& wanted) {
  const std::scoped_lock lock(mutex_);
  left_to_claims_.clear();
  for (const auto& [resource, gpus] : wanted) {
    if (grants_.on(gpus).empty()) left_to_claims_.insert(resource);
  }
  return left_to_claims_;
}

// Kubelet passes the text on to users, as the message of the failed Pod.
Result<void> Book::check_claims(const offer::Grant& grant) const {
  if (left_to_claims_.contains(grant.resource.value)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("invalid allocation request for \"{}\": its MPS control daemon sets no "
                            "limits, for claims get its GPUs",
                            grant.resource.value),
                "the node is in mode dra, or was: start the Pod anew");
  }
  for (const auto& id : grant.ids) {
    const auto device = offer::device_uuid_of(id);
    const auto claim = claims_.claim_on(device);
    if (!claim) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("invalid allocation request for \"{}\": {} is held by claim {}",
                            grant.resource.value, device, *claim),
                "it is free when that claim's last Pod on this node has ended");
  }
  return {};
}

void Book::commit(const offer::Grant& grant) {
  const std::scoped_lock lock(mutex_);
  grants_.commit(grant);
}

void Book::withdraw(const offer::Grant& grant) {
  const std::scoped_lock lock(mutex_);
  grants_.withdraw(grant);
}

bool Book::follow(const offer::Offer& offer, const gpu::Machine& machine, bool enforced) {
  auto followed = GrantEntries::Followed::make(offer, machine, enforced);
  const std::scoped_lock lock(mutex_);
  return grants_.follow(std::move(followed));
}

void Book::keep(std::span<const holdings::Holding> kept) {
  const std::scoped_lock lock(mutex_);
  grants_.keep(kept);
}

Book::Changes Book::apply(const HolderAnswer& answer) {
  const std::scoped_lock lock(mutex_);
  const auto changes = grants_.apply(answer);
  changes_.came = changes_.came || changes.came;
  changes_.changed = changes_.changed || changes.changed;
  changes_.unclear = changes.unclear;
  return changes;
}

Result<Book::Changes> Book::ask(HolderAnswers& kubelet, std::chrono::milliseconds age) {
  ASSIGN_OR_RETURN(const auto answer, kubelet.get(age));
  return apply(*answer);
}

Book::Changes Book::take_changes() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(changes_, {});
}

void Book::learn(const std::vector<cluster::HeldDevices>& remembered) {
  const std::scoped_lock lock(mutex_);
  grants_.learn(remembered);
}

bool Book::has_unnamed() const {
  const std::scoped_lock lock(mutex_);
  return grants_.has_unnamed();
}

void Book::open(bool open) {
  const std::scoped_lock lock(mutex_);
  claims_.open(open);
}

std::uint64_t Book::enter(const std::string& uid) {
  const std::scoped_lock lock(mutex_);
  return claims_.enter(uid);
}

bool Book::stands(const std::string& uid, std::uint64_t call) const {
  const std::scoped_lock lock(mutex_);
  return claims_.stands(uid, call);
}

void Book::leave(const std::string& uid, std::uint64_t call) {
  const std::scoped_lock lock(mutex_);
  claims_.leave(uid, call);
}

Result<void> Book::reserve(const dra::PreparedClaim& claim, const gpu::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  TRY(claims_.check_open());
  TRY(check_grants(claim, machine));
  claims_.begin(claim, machine);
  return {};
}

// After a change of the node's mode, containers may still hold the device plugin's devices.
Result<void> Book::check_grants(const dra::PreparedClaim& claim,
                                const gpu::Machine& machine) const {
  const holdings::Silicon silicon(machine);
  for (const auto& device : claim.devices) {
    if (device.admin_access) continue;
    const auto by = grants_.on(silicon_of(device, silicon));
    if (by.empty()) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("{} is held by the device plugin's containers: {}", device.device,
                            holdings::describe_holders(by)),
                "it is free when they have ended");
  }
  return {};
}

void Book::commit(const dra::PreparedClaim& claim, const gpu::Machine& machine) {
  const std::scoped_lock lock(mutex_);
  claims_.stored(claim, machine);
}

void Book::withdraw(const std::string& uid, std::uint64_t call) {
  const std::scoped_lock lock(mutex_);
  claims_.withdraw(uid, call);
}

void Book::failed(const std::string& uid, std::string trouble) {
  const std::scoped_lock lock(mutex_);
  claims_.failed(uid, std::move(trouble));
}

void Book::end(const std::string& uid) {
  {
    const std::scoped_lock lock(mutex_);
    claims_.end(uid);
  }
  changed_.notify_all();
}

void Book::restore(const std::map<std::string, dra::PreparedClaim>& claims,
                   const gpu::Machine& machine, std::set<std::string> unreadable) {
  const std::scoped_lock lock(mutex_);
  claims_.restore(claims, machine, std::move(unreadable));
}

std::set<std::string> Book::unreadable() const {
  const std::scoped_lock lock(mutex_);
  return claims_.unreadable();
}

bool Book::restored() const {
  const std::scoped_lock lock(mutex_);
  return claims_.restored();
}

std::uint64_t Book::version() const {
  const std::scoped_lock lock(mutex_);
  return claims_.version();
}

bool Book::await_change(std::uint64_t version, std::chrono::steady_clock::time_point end) const {
  const auto now = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  if (stopped_ || now >= end) return false;
  changed_.wait_until(lock, std::min(end, now + kLookAgain),
                      [&] { return stopped_ || claims_.version() != version; });
  return !stopped_;
}

void Book::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

std::vector<dra::PreparedClaim> Book::claims() const {
  const std::scoped_lock lock(mutex_);
  return claims_.claims();
}

std::vector<ClaimRecord> Book::records() const {
  const std::scoped_lock lock(mutex_);
  return claims_.records();
}

std::optional<std::string> Book::claim_on(std::string_view uuid) const {
  const std::scoped_lock lock(mutex_);
  return claims_.claim_on(uuid);
}

std::optional<std::vector<cluster::ObjectKey>> Book::claims_of(
    const std::set<std::string>& uuids) const {
  const std::scoped_lock lock(mutex_);
  return claims_.claims_of(uuids);
}

}  // namespace tranche::agent
