#include "cdi/claim_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/uuid.h"
#include "cdi/gpu_edits.h"
#include "cdi/validate.h"

namespace tranche::cdi {
namespace {

constexpr std::string_view kFilePrefix = "k8s.gpu.nvidia.com-claim-";
constexpr std::string_view kFileSuffix = ".json";

std::string claim_file_name(const std::string& uid) {
  return fmt::format("{}{}{}", kFilePrefix, uid, kFileSuffix);
}

Result<void> add_limits(const std::optional<offer::LimitMounts>& limits, const ClaimDevice& device,
                        ContainerEdits& edits) {
  if (device.tenant.empty()) return {};
  if (!limits) {
    return fail(Code::kFailedPrecondition, "containers cannot be limited on this node",
                "see the agent's log");
  }
  for (auto mount : offer::mounts_of(*limits, device.tenant)) {
    mount.options = file_mount_options();
    edits.mounts.push_back(std::move(mount));
  }
  if (device.hook) edits.hooks.push_back(*device.hook);
  return {};
}

void add_client(const offer::MpsClient& client, ContainerEdits& edits) {
  for (const auto& [name, value] : client.envs) {
    edits.env.push_back(fmt::format("{}={}", name, value));
  }
  for (auto mount : client.mounts) {
    mount.options = file_mount_options();
    edits.mounts.push_back(std::move(mount));
  }
}

}  // namespace

Result<ClaimFile> make_claim_file(const std::string& uid, std::span<const ClaimDevice> devices,
                                  const gpu::Machine& machine, const DriverFiles& files,
                                  const SpecOptions& options,
                                  const std::optional<offer::LimitMounts>& limits) {
  const GpuEdits edits(files, options);
  Spec spec{.kind = std::string(kClaimKind), .edits = edits.common()};
  for (const auto& claimed : devices) {
    const auto& device = claimed.device;
    Device one{.name = claimed.name, .edits = edits.of(device, machine)};
    if (one.edits.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("the device nodes of {} are not known", device.uuid),
                  "see the agent's warnings and the kernel log of the node");
    }
    TRY(add_limits(limits, claimed, one.edits));
    if (claimed.client) add_client(*claimed.client, one.edits);
    spec.devices.push_back(std::move(one));
  }
  put_in_order(spec);
  if (const auto fits = validate(spec); !fits) {
    return std::unexpected(Error(fits.error()).with_context("CDI file of the claim"));
  }
  return ClaimFile{.name = claim_file_name(uid), .json = to_json(spec)};
}

Result<void> write_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                              const ClaimFile& file) {
  TRY(fs.make_directories(folder));
  if (const auto there = fs.read(folder / file.name); there && *there == file.json) return {};
  return fs.write_atomic(folder / file.name, file.json);
}

Result<void> remove_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                               const std::string& uid) {
  return fs.remove(folder / claim_file_name(uid));
}

bool has_claim_file(const FsRoot& fs, const std::filesystem::path& folder, const std::string& uid) {
  return fs.exists(folder / claim_file_name(uid));
}

Result<std::vector<std::string>> claims_with_files(const FsRoot& fs,
                                                   const std::filesystem::path& folder) {
  std::vector<std::string> uids;
  const auto names = fs.list(folder);
  if (!names && names.error().code == Code::kNotFound) return uids;
  if (!names) return std::unexpected(names.error());
  for (const std::string_view name : *names) {
    if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileSuffix)) continue;
    const auto uid =
        name.substr(kFilePrefix.size(), name.size() - kFilePrefix.size() - kFileSuffix.size());
    if (is_uuid(uid)) uids.emplace_back(uid);
  }
  return uids;
}

bool is_in_a_claim_file(const FsRoot& fs, const std::filesystem::path& folder,
                        const std::string& text) {
  const auto uids = claims_with_files(fs, folder);
  if (!uids) return true;
  return std::ranges::any_of(*uids, [&](const std::string& uid) {
    const auto file = fs.read(folder / claim_file_name(uid));
    if (!file) return file.error().code != Code::kNotFound;  // the process has ended meanwhile
    return file->find(text) != std::string::npos;
  });
}

}  // namespace tranche::cdi
