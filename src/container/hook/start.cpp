#include "hook/start.h"

#include <algorithm>
#include <utility>

#include "base/fs.h"
#include "fmt/format.h"
#include "hook/arbiter_client.h"
#include "hook/container.h"
#include "hook/image_preload.h"
#include "limit/tenant_limits.h"

namespace tranche::hook {
namespace {

constexpr std::size_t kLongestLimits = std::size_t{64} << 10U;

Result<bool> is_by_kernel(const std::filesystem::path& tenants, const std::string& id) {
  ASSIGN_OR_RETURN(const auto text, FsRoot().read(tenants / (id + ".json"), kLongestLimits));
  ASSIGN_OR_RETURN(const auto limits, limit::decode(text));
  return std::ranges::any_of(limits.devices, [&](const DeviceLimits& device) {
    return device.enforcer == MemoryEnforcer::kKernel &&
           limit::most_memory(limits, device).has_value();
  });
}

// Whether the kernel must limit memory of one of the tenants. true if a tenant's file cannot be
// read: then the arbiter, which has read it before, is asked.
bool is_for_kernel(const std::filesystem::path& tenants, const std::vector<std::string>& ids,
                   std::string& complaint) {
  return std::ranges::any_of(ids, [&](const std::string& id) {
    const auto answer = is_by_kernel(tenants, id);
    if (!answer) {
      complaint = fmt::format("what tenant {} was promised cannot be read: {}; ", id,
                              answer.error().message());
    }
    return answer.value_or(true);
  });
}

// The folder's path as given, and its path with symbolic links resolved.
std::vector<std::filesystem::path> names_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> names{folder.lexically_normal()};
  std::error_code error;
  auto canonical = std::filesystem::canonical(folder, error);
  if (!error) names.push_back(std::move(canonical));
  return names;
}

Verdict refuse(std::string_view why) {
  return {.may_start = false, .message = fmt::format("tranche: {}", why)};
}

}  // namespace

Verdict decide(std::string_view state, const Options& options,
               const std::function<void(bool)>& on_decided) {
  const auto given = parse_state(state);
  if (!given) return refuse(given.error().message());
  const auto text = FsRoot().read(given->bundle / "config.json", kLongestConfig);
  if (!text) return refuse(text.error().message());
  const auto container = parse_config(*text, given->bundle, names_of(options.tenants));
  if (!container) return refuse(container.error().message());
  if (container->tenants.empty()) return {};

  limit::StartNotice notice{.pid = given->pid, .tenants = container->tenants, .preload = {}};
  std::string complaint;
  notice.waits = is_for_kernel(options.tenants, container->tenants, complaint);
  if (on_decided) on_decided(!notice.waits);

  auto preload = find_image_preload(container->rootfs);
  const std::string unseen = preload ? "" : fmt::format("tranche: {}", preload.error().message());
  notice.preload = std::move(preload).value_or("");
  if (!notice.waits && notice.preload.empty()) return {.may_start = true, .message = unseen};

  const auto deadline =
      std::chrono::steady_clock::now() + (notice.waits ? options.patience : options.courtesy);
  const auto answer =
      ask_arbiter(options.tenants / limit::kStartSocket, notice, deadline, notice.waits);
  if (!notice.waits) {
    return {.may_start = true,
            .message = answer ? unseen : fmt::format("tranche: {}", answer.error().message())};
  }
  if (answer && answer->may_start) return {.may_start = true, .message = unseen};
  return refuse(fmt::format(
      "{}the driver is to limit this container's GPU memory before it starts (kernelLimits), and "
      "does not: {}. It is started again by kubelet; look at the arbiter of this node "
      "(docs/limits.md, \"The runtime's hook\")",
      complaint, answer ? answer->reason : answer.error().message()));
}

}  // namespace tranche::hook
