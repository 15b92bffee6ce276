#include "offer/grant_maker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "offer/limits.h"
#include "offer/mps.h"

namespace tranche::offer {
namespace {

using config::DeviceIdStrategy;
using config::DeviceListStrategy;

// The folder in which volume mounts tell NVIDIA's container runtime the devices.
constexpr std::string_view kMountRoot = "/var/run/nvidia-container-devices";
constexpr std::string_view kCdiVendor = "k8s.device-plugin.nvidia.com";

// "/run/nvidia/driver" + "/dev/nvidia0"; roots may end in slashes.
std::string under_root(std::string_view root, std::string_view path) {
  while (root.ends_with('/')) root.remove_suffix(1);
  return fmt::format("{}{}", root, path);
}

// Fills in a Grant for devices that are already checked.
class Writer {
 public:
  Writer(const GrantOptions& options, const std::vector<const Device*>& devices, Grant& grant)
      : options_(options), devices_(devices), grant_(grant) {
    for (const Device* device : devices) {
      names_.push_back(options.id_strategy == DeviceIdStrategy::kIndex ? device->index
                                                                       : device->uuid);
    }
  }

  void write(std::string_view annotation_id) {
    if (options_.gdrcopy) grant_.envs["NVIDIA_GDRCOPY"] = "enabled";
    if (options_.gds) grant_.envs["NVIDIA_GDS"] = "enabled";
    if (options_.mofed) grant_.envs["NVIDIA_MOFED"] = "enabled";
    bool runtime_hook = false;
    for (const DeviceListStrategy strategy : options_.list_strategies) {
      switch (strategy) {
        case DeviceListStrategy::kCdiAnnotations:
          add_cdi_annotation(annotation_id);
          break;
        case DeviceListStrategy::kCdiCri:
          grant_.cdi_devices = cdi_names();
          break;
        case DeviceListStrategy::kEnvvar:
          add_environment(), runtime_hook = true;
          break;
        case DeviceListStrategy::kVolumeMounts:
          add_mounts(), runtime_hook = true;
          break;
      }
    }
    // With CDI alone the CDI specification brings the device nodes.
    if (runtime_hook && options_.pass_device_specs) add_device_nodes();
  }

 private:
  bool has(DeviceListStrategy strategy) const {
    return std::ranges::find(options_.list_strategies, strategy) != options_.list_strategies.end();
  }

  std::vector<std::string> cdi_names() const {
    std::vector<std::string> out;
    for (const std::string& name : names_)
      out.push_back(fmt::format("{}/gpu={}", kCdiVendor, name));
    for (const int channel : options_.imex_channels) {
      out.push_back(fmt::format("{}/imex-channel={}", kCdiVendor, channel));
    }
    for (const std::string& mode : options_.cdi_modes) {
      out.push_back(fmt::format("{}/{}=all", kCdiVendor, mode));
    }
    return out;
  }

  void add_cdi_annotation(std::string_view annotation_id) {
    grant_.annotations[fmt::format("{}nvidia-device-plugin_{}", options_.cdi_annotation_prefix,
                                   annotation_id)] = fmt::format("{}", fmt::join(cdi_names(), ","));
  }

  void add_environment() {
    if (!options_.imex_channels.empty()) {
      grant_.envs["NVIDIA_IMEX_CHANNELS"] =
          fmt::format("{}", fmt::join(options_.imex_channels, ","));
    }
    // With volume mounts the variable names their folder instead, whatever the order of the
    // strategies.
    if (has(DeviceListStrategy::kVolumeMounts)) return;
    grant_.envs["NVIDIA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(names_, ","));
  }

  void add_mounts() {
    grant_.envs["NVIDIA_VISIBLE_DEVICES"] = kMountRoot;
    for (const std::string& name : names_) add_mount(name);
    for (const int channel : options_.imex_channels) add_mount(fmt::format("imex/{}", channel));
  }
  void add_mount(std::string_view name) {
    grant_.mounts.push_back({fmt::format("{}/{}", kMountRoot, name), "/dev/null", false});
  }

  void add_device_nodes() {
    for (const std::string& path : options_.control_nodes) add_device_node(path);
    for (const Device* device : devices_) {
      for (const std::string& path : device->paths) add_device_node(path);
    }
    for (const int channel : options_.imex_channels) {
      add_device_node(fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel));
    }
  }
  void add_device_node(const std::string& path) {
    // MIG instances of one GPU share its node; it is added once.
    if (std::ranges::find(grant_.devices, path, &DeviceNode::container_path) !=
        grant_.devices.end()) {
      return;
    }
    grant_.devices.push_back({path, under_root(options_.dev_root, path), "rw"});
  }

  const GrantOptions& options_;
  const std::vector<const Device*>& devices_;
  Grant& grant_;
  std::vector<std::string> names_;  // the devices' names by the id strategy, in order
};

// An id as messages show it: whole, unless it is too long to be an id. gRPC refuses errors of more
// than 8 KiB, and the caller would see gRPC's refusal instead of ours.
std::string shown(const std::string& id) {
  constexpr std::size_t kLongest = 200;
  return id.size() <= kLongest ? id : fmt::format("{}...", id.substr(0, kLongest));
}

std::unexpected<Error> refuse(const ResourceOffer& offer, std::string_view why,
                              Code code = Code::kInvalidArgument) {
  return fail(code, fmt::format("invalid allocation request for \"{}\": invalid request: {}",
                                offer.name.value, why));
}

// Mounts of the Allocate answer reach the container with every device-list strategy. When two
// resources of one container name the same mount, kubelet adds it once.
void add_limit_mounts(const LimitMounts& limits, std::string_view tenant, Grant& grant) {
  std::ranges::move(mounts_of(limits, tenant), std::back_inserter(grant.mounts));
}

}  // namespace

GrantMaker::GrantMaker(ResourceOffer offer, GrantOptions options)
    : offer_(std::move(offer)), options_(std::move(options)) {
  by_id_.reserve(offer_.tranches.size());
  for (const Tranche& tranche : offer_.tranches) by_id_.emplace(tranche.id, tranche.device);
}

Result<void> GrantMaker::check(std::span<const std::string> ids) const {
  if (ids.empty()) return refuse(offer_, "no device");
  std::unordered_set<std::string_view> seen;
  bool replicas = false;
  for (const std::string& id : ids) {
    if (!by_id_.contains(id)) {
      return refuse(offer_, "unknown device: " + shown(id), Code::kNotFound);
    }
    if (!seen.insert(id).second) return refuse(offer_, "duplicate device: " + shown(id));
    replicas = replicas || is_replica_id(id);
  }
  if (replicas && ids.size() > 1 && offer_.fail_requests_greater_than_one) {
    return refuse(offer_, fmt::format("maximum request size for shared resources is 1; found {}",
                                      ids.size()));
  }
  return {};
}

std::vector<const Device*> GrantMaker::devices_of(std::span<const std::string> ids) const {
  std::vector<const Device*> out;
  std::vector<bool> taken(offer_.devices.size());
  for (const std::string& id : ids) {
    const std::size_t device = by_id_.find(id)->second;
    if (taken[device]) continue;
    taken[device] = true;
    out.push_back(&offer_.devices[device]);
  }
  return out;
}

Result<Grant> GrantMaker::make(std::span<const std::string> ids, std::string_view fresh_id) const {
  TRY(check(ids));
  if (offer_.limits && !options_.limits) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} has limits, and containers cannot be limited on this node",
                            offer_.name.value),
                "see the agent's log");
  }
  Grant grant;
  grant.resource = offer_.name;
  grant.ids.assign(ids.begin(), ids.end());
  add_mps(offer_, ids, options_.mps_root, grant);
  Writer(options_, devices_of(ids), grant).write(fresh_id);
  if (offer_.limits) {
    grant.tenant = fresh_id;
    grant.limits = limits_for(offer_, ids);
    add_limit_mounts(*options_.limits, fresh_id, grant);
  }
  // The name goes into kubelet's own field for CDI devices, with every device-list strategy.
  if (has_runtime_hook(offer_)) grant.cdi_devices.emplace_back(kHookDevice);
  return grant;
}

Result<Grant> make_grant(const ResourceOffer& offer, const GrantOptions& options,
                         std::span<const std::string> ids, const std::string& fresh_id) {
  return GrantMaker(offer, options).make(ids, fresh_id);
}

}  // namespace tranche::offer
