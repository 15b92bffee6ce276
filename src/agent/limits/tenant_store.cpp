#include "agent/limits/tenant_store.h"

#include <fmt/format.h>

namespace tranche::agent {
namespace {

using limit::wire::Enforcement;

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kLargestTenant = std::size_t{64} << 10U;

Enforcement to_wire(config::Enforcement enforcement) {
  switch (enforcement) {
    case config::Enforcement::kOff:
      break;
    case config::Enforcement::kAccount:
      return Enforcement::kAccount;
    case config::Enforcement::kStrict:
      return Enforcement::kStrict;
    case config::Enforcement::kElastic:
      return Enforcement::kElastic;
  }
  return Enforcement::kOff;
}

limit::Class to_class(config::PriorityClass priority) {
  switch (priority) {
    case config::PriorityClass::kLatencyCritical:
      return limit::Class::kLatencyCritical;
    case config::PriorityClass::kNormal:
      break;
    case config::PriorityClass::kBestEffort:
      return limit::Class::kBestEffort;
  }
  return limit::Class::kNormal;
}

limit::MemoryBy to_memory_by(offer::MemoryEnforcer enforcer) {
  switch (enforcer) {
    case offer::MemoryEnforcer::kMig:
      return limit::MemoryBy::kMig;
    case offer::MemoryEnforcer::kKernel:
      return limit::MemoryBy::kKernel;
    case offer::MemoryEnforcer::kMps:
      return limit::MemoryBy::kMps;
    case offer::MemoryEnforcer::kLimiter:
      break;
  }
  return limit::MemoryBy::kLimiter;
}

// Open to every user of the container: who may connect is who has the mount.
Result<void> make_tenant_folder(const std::filesystem::path& path) {
  using std::filesystem::perms;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) {
    std::filesystem::permissions(path,
                                 perms::owner_all | perms::group_read | perms::group_exec |
                                     perms::others_read | perms::others_exec,
                                 error);
  }
  if (error) return std::unexpected(errno_error(error.value(), "mkdir " + path.string()));
  return {};
}

}  // namespace

Result<void> TenantStore::make_folder() const { return make_tenant_folder(dir_); }

Result<bool> TenantStore::put(const limit::TenantLimits& limits) const {
  if (!fs_.is_directory(dir_)) TRY(make_folder());
  TRY(make_tenant_folder(dir_ / limits.id));
  const auto file = dir_ / (limits.id + std::string(kSuffix));
  const auto text = limit::encode(limits);
  if (const auto now = fs_.read(file, kLargestTenant); now && *now == text) return false;
  TRY(fs_.write_atomic(file, text));
  return true;
}

Result<limit::TenantLimits> TenantStore::get(const std::string& id) const {
  ASSIGN_OR_RETURN(const auto text, fs_.read(dir_ / (id + std::string(kSuffix)), kLargestTenant));
  return limit::decode(text);
}

Result<void> TenantStore::remove(const std::string& id) const {
  TRY(fs_.remove(dir_ / (id + std::string(kSuffix))));
  std::error_code error;
  std::filesystem::remove_all(dir_ / id, error);
  if (error) return std::unexpected(errno_error(error.value(), "remove " + (dir_ / id).string()));
  return {};
}

Result<std::vector<std::string>> TenantStore::ids() const {
  std::vector<std::string> ids;
  if (!fs_.is_directory(dir_)) return ids;
  ASSIGN_OR_RETURN(const auto names, fs_.list(dir_));
  for (const auto& name : names) {
    if (!name.ends_with(kSuffix) || name.starts_with('.')) continue;
    ids.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return ids;
}

Result<limit::TenantLimits> tenant_limits(std::string id, std::string resource,
                                          const offer::GrantLimits& limits) {
  if (limits.devices.size() > limit::wire::kMaxDevices) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} devices of {} for one container; with limits at most {} are "
                            "possible",
                            limits.devices.size(), resource, limit::wire::kMaxDevices),
                "ask for fewer, or set enforcement: off for the resource");
  }
  limit::TenantLimits tenant{.id = std::move(id),
                             .resource = std::move(resource),
                             .enforcement = to_wire(limits.enforcement),
                             .priority = to_class(limits.priority),
                             .devices = {}};
  for (const auto& device : limits.devices) {
    limit::DeviceLimits entry{.uuid = device.uuid,
                              .weight = static_cast<std::uint32_t>(device.weight)};
    if (device.memory) entry.memory_bytes = device.memory->value;
    if (device.memory || device.enforcer == offer::MemoryEnforcer::kMig) {
      entry.memory_by = to_memory_by(device.enforcer);
    }
    if (device.permille) entry.permille = static_cast<std::uint32_t>(*device.permille);
    if (device.borrowing) {
      entry.borrowing = {device.borrowing->hard.value, device.borrowing->device.value};
    }
    tenant.devices.push_back(std::move(entry));
  }
  return tenant;
}

}  // namespace tranche::agent
