#include "agent/dra/claim_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/dra/drain_condition.h"
#include "cluster/formats/reasons.h"
#include "cluster/kinds.h"
#include "cluster/time.h"

namespace tranche::agent {
namespace {

constexpr const char* kKey = "statuses";
constexpr const char* kFieldManager = "tranche-dra";
constexpr std::chrono::seconds kLongestCall{10};
constexpr std::uint32_t kPermillePerPercent = 10;

// Why the device is not ready: reason, and text for people.
struct Trouble {
  std::string reason;
  std::string message;
};

std::optional<Trouble> trouble_of(const ClaimRecord& record, const dra::PreparedDevice& device,
                                  const std::vector<dra::DeviceHealth>& health) {
  if (!record.trouble.empty()) return Trouble{cluster::reason::kNotPrepared, record.trouble};
  const auto ill = std::ranges::find_if(health, [&](const dra::DeviceHealth& one) {
    return one.pool == device.pool && one.device == device.device && !one.reason.empty();
  });
  if (ill == health.end()) return std::nullopt;
  return Trouble{cluster::reason::kDeviceUnhealthy, ill->reason};
}

cluster::DeviceStatus status_of(const ClaimRecord& record, const dra::PreparedDevice& device,
                                const std::vector<dra::DeviceHealth>& health,
                                const std::string& driver) {
  cluster::DeviceStatus status{.driver = driver,
                               .pool = device.pool,
                               .device = device.device,
                               .share_id = device.share_id,
                               .ready = true,
                               .reason = cluster::reason::kPrepared,
                               .uuid = device.uuid};
  if (auto trouble = trouble_of(record, device, health)) {
    status.ready = false;
    status.reason = std::move(trouble->reason);
    status.message = std::move(trouble->message);
  }
  if (!device.limits || device.limits->devices.empty()) return status;
  const auto& limits = device.limits->devices.front();
  status.memory = limits.memory;
  if (limits.permille) status.percent = *limits.permille / kPermillePerPercent;
  return status;
}

const cluster::DeviceStatus* same_device(const std::vector<cluster::DeviceStatus>& there,
                                         const cluster::DeviceStatus& one) {
  const auto found = std::ranges::find_if(there, [&](const cluster::DeviceStatus& other) {
    return other.pool == one.pool && other.device == one.device && other.share_id == one.share_id;
  });
  return found == there.end() ? nullptr : &*found;
}

}  // namespace

std::map<std::string, ClaimStatus> statuses_of(const std::vector<ClaimRecord>& records,
                                               const std::vector<dra::DeviceHealth>& health,
                                               const std::string& driver) {
  std::map<std::string, ClaimStatus> statuses;
  for (const auto& record : records) {
    if (driver_of(record.claim, driver) != driver) continue;  // this token may not write its status
    const bool is_made = std::ranges::none_of(
        record.claim.devices, [](const auto& device) { return device.uuid.empty(); });
    if (!is_made && record.trouble.empty()) continue;
    ClaimStatus status{.claim = {record.claim.ns, record.claim.name}, .devices = {}};
    for (const auto& device : record.claim.devices) {
      status.devices.push_back(status_of(record, device, health, driver));
    }
    statuses.emplace(record.claim.uid, std::move(status));
  }
  return statuses;
}

void ClaimStatusWriter::follow(std::map<std::string, ClaimStatus> statuses) {
  {
    const std::scoped_lock lock(mutex_);
    if (forbidden_) return;
    bool any = false;
    for (auto& [uid, wish] : wishes_) {
      if (!statuses.contains(uid)) statuses.emplace(uid, ClaimStatus{wish.status.claim, {}});
    }
    for (auto& [uid, status] : statuses) {
      auto& wish = wishes_[uid];
      if (wish.status != status) wish = {.status = std::move(status), .written = false};
      any = any || !wish.written;
    }
    if (!any) return;
  }
  retrier_.request({.key = kKey,
                    .attempt = [this](const std::stop_token& stop) { return write_all(stop); },
                    .done = {},
                    .aim = kKey});
}

// A failed write does not hold up the others.
Result<void> ClaimStatusWriter::write_all(const std::stop_token& stop) {
  std::vector<std::pair<std::string, ClaimStatus>> due;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [uid, wish] : wishes_) {
      if (!wish.written) due.emplace_back(uid, wish.status);
    }
  }
  Result<void> result;
  for (const auto& [uid, status] : due) {
    if (stop.stop_requested()) return {};
    auto written = write(uid, status, {.deadline = kLongestCall, .stop = stop});
    const std::scoped_lock lock(mutex_);
    if (!written && written.error().code == Code::kPermission) {
      ports_.log.info(
          "what claims have is not told in their status.devices, for want of a right: " +
          written.error().message());
      forbidden_ = true;
      wishes_.clear();
      return {};
    }
    const auto wish = wishes_.find(uid);
    if (!written) {
      result = std::move(written);
    } else if (wish != wishes_.end() && wish->second.status == status) {
      wish->second.written = true;
      if (status.devices.empty()) wishes_.erase(wish);
    }
  }
  return result;
}

// Writes nothing to a claim that is gone, is another one of the same name, or is no longer
// allocated to this node: the API server drops the entries with the allocation.
Result<void> ClaimStatusWriter::write(const std::string& uid, const ClaimStatus& status,
                                      const cluster::Call& call) {
  const auto object = ports_.objects.get(cluster::kResourceClaim, status.claim, call);
  if (!object && object.error().code == Code::kNotFound) return {};
  if (!object) return std::unexpected(object.error());
  if (object->uid != uid) return {};
  const auto there = cluster::parse_device_statuses(object->json, ports_.driver)
                         .value_or(std::vector<cluster::DeviceStatus>());
  const auto now = cluster::whole_second_time(ports_.clock.wall_now());
  auto devices = status.devices;
  for (auto& device : devices) {
    const auto* before = same_device(there, device);
    const bool as_before = before != nullptr && before->ready == device.ready;
    device.since = as_before ? before->since : now;
  }
  if (devices == there) return {};
  const auto applied = ports_.objects.apply(cluster::kResourceClaim, status.claim,
                                            {.json = to_apply(status.claim, uid, devices),
                                             .field_manager = kFieldManager,
                                             .force = true,
                                             .subresource = "status"},
                                            call);
  if (applied) return {};
  const auto code = applied.error().code;
  // it ended or was given to others: the next list of claims shows it
  if (code == Code::kNotFound || code == Code::kFailedPrecondition) return {};
  return std::unexpected(
      Error(applied.error()).with_context(fmt::format("claim {}", status.claim.to_string())));
}

}  // namespace tranche::agent
