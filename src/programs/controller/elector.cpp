#include "controller/elector.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_value.h"

namespace tranche::controller {
namespace {

// A patch of the Lease's spec only, at the version that was read. Labels added by others stay.
std::string patch_text(const cluster::Lease& lease) {
  const auto whole = cluster::to_json(lease);
  const auto parsed = json::parse(whole);
  const auto spec = parsed ? parsed->find("spec") : std::nullopt;
  return json::Value({{"metadata", {{"resourceVersion", lease.resource_version}}},
                      {"spec", json::Value::raw(std::string(spec.value_or(json::View()).text()))}})
      .text();
}

bool same_record(const cluster::Lease& a, const cluster::Lease& b) {
  return a.holder == b.holder && a.renewed == b.renewed && a.acquired == b.acquired &&
         a.transitions == b.transitions && a.duration == b.duration;
}

}  // namespace

Elector::Elector(cluster::Objects& objects, Options options, const Clock& clock, const Log& log)
    : objects_(objects), options_(std::move(options)), clock_(clock), log_(log) {}

void Elector::attempt(const std::stop_token& stop) {
  const auto result = try_once(stop);
  if (result || stop.stop_requested()) {
    complaint_.clear();
    return;
  }
  // Another controller was faster; the next attempt reads which one.
  if (result.error().code == Code::kFailedPrecondition ||
      result.error().code == Code::kAlreadyExists || result.error().what == complaint_) {
    return;
  }
  complaint_ = result.error().what;
  log_.warn(fmt::format("the Lease {} cannot be {}: {}; trying again until it can",
                        options_.lease.to_string(), leads() ? "renewed" : "taken",
                        result.error().message()));
}

Result<void> Elector::try_once(const std::stop_token& stop) {
  const auto asked = clock_.now();
  const cluster::Call call{.deadline = options_.renew_deadline / 2, .stop = stop};
  const auto object = objects_.get(cluster::kLease, options_.lease, call);
  if (!object && object.error().code == Code::kNotFound) return create(call, asked);
  if (!object) return std::unexpected(object.error());
  ASSIGN_OR_RETURN(auto lease, cluster::parse_lease(object->json));
  if (!observed_ || !same_record(observed_->lease, lease)) observed_ = {lease, clock_.now()};
  const bool is_mine = lease.holder == options_.identity;
  const bool expired = clock_.now() - observed_->since >= options_.duration;
  if (lease.holder.empty() || is_mine || expired) return take(lease, call, asked);
  give_up(fmt::format("{} holds the Lease", lease.holder));
  if (leader_ != lease.holder) {
    log_.info(fmt::format("{} leads; waiting for the Lease {}", lease.holder,
                          options_.lease.to_string()));
  }
  leader_ = lease.holder;
  return {};
}

cluster::Lease Elector::mine(const cluster::Lease* before) const {
  const auto now = clock_.wall_now();
  cluster::Lease lease = before != nullptr ? *before : cluster::Lease{.key = options_.lease};
  if (lease.holder != options_.identity || !lease.acquired) lease.acquired = now;
  if (before != nullptr && lease.holder != options_.identity) ++lease.transitions;
  lease.holder = options_.identity;
  lease.duration = options_.duration;
  lease.renewed = now;
  return lease;
}

Result<void> Elector::create(const cluster::Call& call, Time asked) {
  auto created =
      objects_.create(cluster::kLease, options_.lease.ns, cluster::to_json(mine(nullptr)), call);
  if (!created) return std::unexpected(std::move(created).error());
  held_until(asked + options_.renew_deadline);
  return {};
}

Result<void> Elector::take(const cluster::Lease& lease, const cluster::Call& call, Time asked) {
  const auto wanted = mine(&lease);
  auto patched =
      objects_.patch(cluster::kLease, options_.lease, {.json = patch_text(wanted)}, call);
  if (!patched) return std::unexpected(std::move(patched).error());
  observed_ = {wanted, clock_.now()};
  held_until(asked + options_.renew_deadline);
  return {};
}

void Elector::release() {
  if (!leads()) return;
  held_until(std::nullopt);
  const cluster::Call call{.deadline = options_.retry};
  const auto object = objects_.get(cluster::kLease, options_.lease, call);
  auto lease = object ? cluster::parse_lease(object->json)
                      : Result<cluster::Lease>(std::unexpected(object.error()));
  if (lease && lease->holder != options_.identity) return;
  Result<void> given = {};
  if (lease) {
    lease->holder.clear();
    lease->duration = std::chrono::seconds(1);
    lease->renewed = clock_.wall_now();
    auto patched =
        objects_.patch(cluster::kLease, options_.lease, {.json = patch_text(*lease)}, call);
    if (!patched) given = std::unexpected(std::move(patched).error());
  } else {
    given = std::unexpected(lease.error());
  }
  if (!given) {
    log_.warn(fmt::format("the Lease {} is not given away, another controller waits {} s: {}",
                          options_.lease.to_string(), options_.duration.count(),
                          given.error().message()));
  }
}

void Elector::held_until(std::optional<Time> time) {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = time && !held_until_;
    held_until_ = time;
    led_ = led_ || time.has_value();
  }
  if (!first) return;
  leader_.clear();
  log_.info(fmt::format("{} leads: it holds the Lease {}", options_.identity,
                        options_.lease.to_string()));
}

void Elector::give_up(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (held_until_) log_.warn(fmt::format("{} leads no more: {}", options_.identity, why));
  held_until_.reset();
}

std::chrono::milliseconds Elector::time_left() const {
  const std::scoped_lock lock(mutex_);
  if (!held_until_) return std::chrono::milliseconds(0);
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(*held_until_ - clock_.now());
  return std::max(left, std::chrono::milliseconds(0));
}

bool Elector::lost() const {
  const std::scoped_lock lock(mutex_);
  return led_ && (!held_until_ || *held_until_ <= clock_.now());
}

}  // namespace tranche::controller
