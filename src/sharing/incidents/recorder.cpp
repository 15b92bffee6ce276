#include "incidents/recorder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tranche::incidents {
namespace {

// No process holds or asks more.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50U;

std::optional<std::uint64_t> believed(std::uint64_t bytes) {
  return bytes == 0 || bytes > kMostBytes ? std::nullopt : std::optional(bytes);
}

cluster::WallTime wall_of(Ns at, Ns now, cluster::WallTime wall) {
  return wall - std::chrono::duration_cast<cluster::WallTime::duration>(now - at);
}

std::uint64_t ms_of(Ns time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

std::vector<Incident> Recorder::take(const NodeReading& node, Ns now, cluster::WallTime wall) {
  if (!began_) began_ = now;
  times_.add(now);
  unsettled_.insert(node.unsettled.begin(), node.unsettled.end());
  others_ = node.others;
  std::ranges::fill(gpu_ns_, 0);
  auto guess = tenants_.begin();
  for (const TenantReading& reading : node.tenants) {
    const auto found = tenant_of(reading, guess);
    guess = std::next(found);
    Tenant& tenant = found->second;
    tenant.sample = times_.count();
    for (std::size_t i = 0; i < reading.devices.size(); ++i) {
      Device& device = tenant.devices[i];
      device.limit_bytes = reading.devices[i].limit_bytes;
      gpu_ns_[device.place] += reading.devices[i].totals.gpu_ns;
      if (device.track) device.track->add(times_, reading.devices[i].totals);
    }
  }
  forget_others();
  std::vector<Incident> found;
  const Moment moment{now, wall};
  guess = tenants_.begin();
  for (const TenantReading& reading : node.tenants) {
    const auto entry = tenant_of(reading, guess);
    guess = std::next(entry);
    Tenant& tenant = entry->second;
    for (std::size_t i = 0; i < reading.devices.size(); ++i) {
      follow_waiting(tenant.devices[i], reading.devices[i], now);
    }
    if (tenant.told && now - *tenant.told < kEach) continue;
    auto incident = find_failure(reading, tenant, moment);
    if (!incident) incident = find_stall(reading, tenant, moment);
    if (!incident) continue;
    tenant.told = now;
    found.push_back(*std::move(incident));
  }
  return found;
}

Recorder::Tenants::iterator Recorder::tenant_of(const TenantReading& reading,
                                                Tenants::iterator guess) {
  if (guess != tenants_.end() && guess->first == reading.id) return guess;
  const auto [entry, is_new] = tenants_.try_emplace(reading.id);
  if (is_new) equip(reading, entry->second);
  return entry;
}

void Recorder::equip(const TenantReading& reading, Tenant& tenant) {
  tenant.resource = reading.resource;
  for (const DeviceReading& read : reading.devices) {
    auto& device = tenant.devices.emplace_back(Device{.device = read.device,
                                                      .limit_bytes = {},
                                                      .track = nullptr,
                                                      .last = read.totals,
                                                      .place = place_of(read.device),
                                                      .starved_since = {},
                                                      .told_launch = {}});
    if (tracks_ == kMostTracks) continue;
    // Those of the first sample were there before.
    device.track = std::make_unique<Track>(times_.count() > 1 && !unsettled_.contains(reading.id));
    ++tracks_;
  }
  // What failed under an earlier arbiter is not told again.
  if (reading.by_limit.at <= *began_ && reading.by_driver.at <= *began_) {
    tenant.refused = reading.refused;
  }
}

// Of all devices that a tenant ever had: those of one machine.
std::size_t Recorder::place_of(const std::string& device) {
  const auto [entry, is_new] = places_.try_emplace(device, gpu_ns_.size());
  if (is_new) gpu_ns_.push_back(0);
  return entry->second;
}

void Recorder::forget_others() {
  std::erase_if(tenants_, [&](const auto& entry) {
    if (entry.second.sample == times_.count()) return false;
    tracks_ -= static_cast<std::size_t>(std::ranges::count_if(
        entry.second.devices, [](const Device& device) { return device.track != nullptr; }));
    return true;
  });
}

std::optional<Failure> Recorder::new_failure(const TenantReading& reading, const Tenant& tenant,
                                             Ns now) const {
  std::optional<Failure> last;
  for (const Failure& failure : {reading.by_limit, reading.by_driver}) {
    const bool is_new = failure.at > std::max(tenant.failed_at, *began_) && failure.at <= now;
    if (!is_new || failure.device >= reading.devices.size()) continue;
    if (!last || failure.at > last->at) last = failure;
  }
  return last;
}

std::optional<Incident> Recorder::find_failure(const TenantReading& reading, Tenant& tenant,
                                               Moment moment) const {
  const auto failure = new_failure(reading, tenant, moment.now);
  if (!failure) return std::nullopt;
  const DeviceReading& device = reading.devices[failure->device];
  const bool by_driver = *failure == reading.by_driver;
  Incident incident{.cause = by_driver ? Cause::kDevice : Cause::kLimit,
                    .at = wall_of(failure->at, moment.now, moment.wall),
                    .device = device.device,
                    .tenant = reading.id,
                    .asked_bytes = believed(failure->asked),
                    .held_bytes = believed(failure->held),
                    .holders = {}};
  if (!incident.held_bytes) incident.held_bytes = device.totals.held;
  incident.times = std::max<std::uint64_t>(
      1, reading.refused > tenant.refused ? reading.refused - tenant.refused : 0);
  tenant.failed_at = failure->at;
  tenant.refused = reading.refused;
  add_holders(incident, {device.device}, failure->at);
  return incident;
}

// Waits without a pause, and gets nothing.
void Recorder::follow_waiting(Device& device, const DeviceReading& reading, Ns now) const {
  const bool waits = reading.totals.waited_ns > device.last.waited_ns;
  const bool gets_nothing = reading.totals.gpu_ns == device.last.gpu_ns;
  device.last = reading.totals;
  const auto others = gpu_ns_of_others(device, reading);
  if (!waits || !gets_nothing) {
    device.starved_since.reset();
    device.told_starved = false;
  } else if (!device.starved_since) {
    device.starved_since = now;
    device.others_gpu_ns = others;
  }
  device.others_gpu_ns = std::min(device.others_gpu_ns, others);  // some have gone
}

std::uint64_t Recorder::gpu_ns_of_others(const Device& device, const DeviceReading& reading) const {
  return gpu_ns_[device.place] - reading.totals.gpu_ns;
}

std::optional<Incident> Recorder::find_stall(const TenantReading& reading, Tenant& tenant,
                                             Moment moment) {
  if (stall_after_ == Ns{0}) return std::nullopt;
  for (std::size_t i = 0; i < reading.devices.size(); ++i) {
    Device& device = tenant.devices[i];
    const auto& read = reading.devices[i];
    const auto since = device.starved_since;
    const bool starved = since && moment.now - *since >= stall_after_ && !device.told_starved &&
                         gpu_ns_of_others(device, read) > device.others_gpu_ns;
    const bool is_long = read.busy_since && moment.now - *read.busy_since >= stall_after_ &&
                         device.told_launch != read.busy_since;
    if (!starved && !is_long) continue;
    if (starved) device.told_starved = true;
    if (!starved) device.told_launch = read.busy_since;
    Incident incident{.cause = starved ? Cause::kStarved : Cause::kLongLaunch,
                      .at = moment.wall,
                      .device = read.device,
                      .tenant = reading.id,
                      .held_bytes = read.totals.held,
                      .stalled_ms = ms_of(moment.now - (starved ? *since : *read.busy_since)),
                      .holders = {}};
    add_holders(incident, {read.device}, moment.now);
    return incident;
  }
  return std::nullopt;
}

Incident Recorder::describe_xid(const std::string& gpu, const std::vector<std::string>& devices,
                                std::uint64_t xid, cluster::WallTime at, Ns now,
                                cluster::WallTime wall) const {
  Incident incident{
      .cause = Cause::kXid, .at = at, .device = gpu, .tenant = {}, .xid = xid, .holders = {}};
  add_holders(incident, devices, now - std::chrono::duration_cast<Ns>(wall - at));
  return incident;
}

void Recorder::add_holders(Incident& incident, const std::vector<std::string>& devices,
                           Ns at) const {
  for (const auto& [id, tenant] : tenants_) {
    for (const Device& device : tenant.devices) {
      if (std::ranges::find(devices, device.device) == devices.end()) continue;
      incident.holders.push_back(holder_of(id, tenant, device, at));
    }
  }
  for (const auto& device : devices) {
    if (const auto found = others_.find(device); found != others_.end()) {
      incident.others_bytes += found->second;
    }
  }
  put_in_order(incident);
}

Holder Recorder::holder_of(const std::string& id, const Tenant& tenant, const Device& device,
                           Ns at) const {
  Holder holder{.tenant = id,
                .resource = tenant.resource,
                .pod = {},
                .limit_bytes = device.limit_bytes,
                .held_bytes = device.last.held,
                .growth = {},
                .seconds = {}};
  if (device.track == nullptr) return holder;
  holder.growth = device.track->growth(times_, at);
  holder.seconds = device.track->seconds(times_, at);
  // What its process held before it died of the incident.
  if (!holder.seconds.empty()) holder.held_bytes = holder.seconds.back().held_bytes;
  return holder;
}

}  // namespace tranche::incidents
