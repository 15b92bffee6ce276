#include "agent/limits/tenant_store.h"

#include <fmt/format.h>

#include "base/remove_tree.h"
#include "limit/part_file.h"
#include "limit/part_format.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kLargestTenant = std::size_t{64} << 10U;

// Every user of the container may use the folder: who has the mount may connect.
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

// False: the file already had this content.
Result<bool> write(const FsRoot& fs, const std::filesystem::path& file, const std::string& text) {
  if (const auto now = fs.read(file, kLargestTenant); now && *now == text) return false;
  TRY(fs.write_atomic(file, text));
  return true;
}

}  // namespace

Result<void> TenantStore::make_folder() const { return make_tenant_folder(dir_); }

Result<bool> TenantStore::put(const limit::TenantLimits& limits) const {
  if (!fs_.is_directory(dir_)) TRY(make_folder());
  TRY(make_tenant_folder(dir_ / limits.id));
  TRY(write(fs_, dir_ / limits.id / limit::part_format::kName, limit::part_file_of(limits)));
  return write(fs_, dir_ / (limits.id + std::string(kSuffix)), limit::encode(limits));
}

Result<limit::TenantLimits> TenantStore::get(const std::string& id) const {
  ASSIGN_OR_RETURN(const auto text, fs_.read(dir_ / (id + std::string(kSuffix)), kLargestTenant));
  return limit::decode(text);
}

Result<void> TenantStore::remove(const std::string& id) const {
  TRY(fs_.remove(dir_ / (id + std::string(kSuffix))));
  return remove_tree(dir_ / id);
}

Result<std::vector<std::string>> TenantStore::ids() const {
  std::vector<std::string> ids;
  const auto names = fs_.list(dir_);
  if (!names && names.error().code == Code::kNotFound) return ids;
  if (!names) return std::unexpected(names.error());
  for (const auto& name : *names) {
    if (!name.ends_with(kSuffix) || name.starts_with('.')) continue;
    ids.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return ids;
}

Result<limit::TenantLimits> tenant_limits(std::string id, std::string resource,
                                          const GrantLimits& limits) {
  if (limits.devices.size() > limit::wire::kMaxDevices) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} devices of {} for one container; with limits at most {} are "
                            "possible",
                            limits.devices.size(), resource, limit::wire::kMaxDevices),
                "ask for fewer, or set enforcement: off for the resource");
  }
  return limit::TenantLimits{.id = std::move(id),
                             .resource = std::move(resource),
                             .enforcement = limits.enforcement,
                             .priority = limits.priority,
                             .devices = limits.devices};
}

}  // namespace tranche::agent
