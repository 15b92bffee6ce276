#include "offer/mps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "offer/limits.h"

namespace tranche::offer {
namespace {

constexpr gpu::ComputeCapability kVolta{7, 0};

// "/run/nvidia/mps/" -> "/run/nvidia/mps"
std::string_view without_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// The container path of a daemon's `folder` ("/nvidia.com/gpu/pipe"), and what leads there.
void connect(std::string_view folder, const std::string& mps_root,
             std::map<std::string, std::string>& envs, std::vector<Mount>& mounts) {
  const std::string pipe = fmt::format("{}{}", kMpsMount, folder);
  const std::string_view root = without_slash(mps_root);
  envs["CUDA_MPS_PIPE_DIRECTORY"] = pipe;
  mounts.push_back({pipe, fmt::format("{}{}", root, folder), false});
  mounts.push_back({"/dev/shm", fmt::format("{}/shm", root), false});
}

// MPS' own limits of a client that has these parts.
void lower(const std::vector<std::string>& memory, int threads,
           std::map<std::string, std::string>& envs) {
  if (!memory.empty()) {
    envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = fmt::format("{}", fmt::join(memory, ","));
  }
  if (threads < 100) envs["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = std::to_string(threads);
}

bool holds(const ResourceOffer& offer) { return offer.limits && offer.limits->rules.holds(); }

// Whether a container may have a share other than the daemon's default.
bool differs_by_grant(const ResourceOffer& offer) {
  return holds(offer) && !offer.fail_requests_greater_than_one;
}

// The percentage of the multiprocessors for a container with this part of the device's time.
int percentage(const config::Limits& rules, std::uint32_t weight) {
  const bool capped = rules.enforcement == Enforcement::kStrict &&
                      !std::holds_alternative<config::NoLimit>(rules.compute);
  return capped ? std::clamp(static_cast<int>(weight / 10), 1, 100) : 100;
}

MpsShare equal_share(const Device& device, int replicas) {
  MpsShare share{.memory = std::nullopt, .thread_percentage = std::max(1, 100 / replicas)};
  const auto mib = (device.memory.value / static_cast<std::uint64_t>(replicas)) >> 20U;
  if (mib > 0) share.memory = Bytes::from_mib(mib);
  return share;
}

// The share of `count` tranches of device `device`, for a container that has no others.
MpsShare part(const ResourceOffer& offer, std::size_t device, int count) {
  if (!differs_by_grant(offer)) return mps_default(offer, device);
  std::vector<std::string> ids;
  ids.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ids.push_back(replica_id(offer.devices[device].uuid, i));
  const auto limits = limits_for(offer, ids);
  if (!limits) return {};
  const DeviceLimits& own = limits->devices.front();
  return {.memory = own.memory, .thread_percentage = percentage(offer.limits->rules, own.weight)};
}

MpsShare larger(const MpsShare& a, const MpsShare& b) {
  MpsShare both{.thread_percentage = std::max(a.thread_percentage, b.thread_percentage)};
  if (a.memory && b.memory) both.memory = std::max(*a.memory, *b.memory);
  return both;
}

// The largest share that clients with `count` tranches of one device may have, over all devices.
MpsShare largest_part(const ResourceOffer& offer, const std::vector<int>& counts, int count) {
  std::optional<MpsShare> largest;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] <= 1) continue;
    const auto own = part(offer, i, std::min(count, counts[i]));
    largest = largest ? larger(*largest, own) : own;
  }
  return largest.value_or(MpsShare());
}

std::string namespace_name(const ResourceOffer& offer, int count) {
  return differs_by_grant(offer) ? fmt::format("tranches_{}", count) : std::string(kMpsDefault);
}

// The number of `ids` on each device, by its index in the offer.
std::map<std::size_t, int> counts_of(const ResourceOffer& offer, std::span<const std::string> ids) {
  std::map<std::size_t, int> counts;
  for (const std::string& id : ids) {
    const auto found = std::ranges::find(offer.devices, device_uuid_of(id), &Device::uuid);
    if (found != offer.devices.end()) {
      ++counts[static_cast<std::size_t>(found - offer.devices.begin())];
    }
  }
  return counts;
}

// With namespaces: returns the folder of the container's namespace, and sets the memory limit of
// devices whose part is smaller than the namespace's.
std::string join_namespace(const ResourceOffer& offer, std::span<const std::string> ids,
                           Grant& grant) {
  const auto own = counts_of(offer, ids);
  int most = 1;
  for (const auto& [device, count] : own) most = std::max(most, count);
  const auto all = largest_part(offer, tranche_counts(offer), most);
  std::vector<std::string> lowered;
  for (const auto& [device, count] : own) {
    const auto memory = part(offer, device, count).memory;
    if (!memory || (all.memory && *memory >= *all.memory)) continue;
    lowered.push_back(fmt::format("{}={}M", offer.devices[device].uuid, memory->mib()));
  }
  if (!lowered.empty()) {
    grant.envs["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = fmt::format("{}", fmt::join(lowered, ","));
  }
  return fmt::format("/{}/{}", kMpsServer, namespace_name(offer, most));
}

// Without namespaces: sets the container's own part, which lowers the daemon's default.
void lower_by_environment(const ResourceOffer& offer, std::span<const std::string> ids,
                          Grant& grant) {
  const auto limits = differs_by_grant(offer) ? limits_for(offer, ids) : std::nullopt;
  if (!limits) return;
  std::vector<std::string> memory;
  int threads = 1;  // one value for all devices; no device has less than its part
  for (const DeviceLimits& part : limits->devices) {
    if (part.memory) memory.push_back(fmt::format("{}={}M", part.uuid, part.memory->mib()));
    threads = std::max(threads, percentage(offer.limits->rules, part.weight));
  }
  lower(memory, threads, grant.envs);
}

}  // namespace

int mps_percentage(const DeviceLimits& limits) {
  constexpr std::uint32_t kAll = 1000;
  return std::clamp(static_cast<int>(limits.permille.value_or(kAll) / 10), 1, 100);
}

MpsClient mps_client(const std::string& resource, const MpsService& service,
                     const std::string& mps_root, std::span<const DeviceLimits> parts) {
  MpsClient client;
  std::string folder = fmt::format("/{}/pipe", resource);
  if (service.namespaces) folder += fmt::format("/{}/{}", kMpsServer, kMpsDefault);
  connect(folder, mps_root, client.envs, client.mounts);
  std::vector<std::string> memory;
  int threads = 1;
  for (const DeviceLimits& part : parts) {
    if (part.memory) memory.push_back(fmt::format("{}={}M", part.uuid, part.memory->mib()));
    threads = std::max(threads, mps_percentage(part));
  }
  lower(memory, parts.empty() ? 100 : threads, client.envs);
  return client;
}

int most_mps_clients(gpu::ComputeCapability capability) { return capability < kVolta ? 16 : 48; }

std::string mps_objection(const gpu::Machine& machine, const Device& device, int replicas,
                          const config::ResourceName& name) {
  const gpu::Gpu* gpu = gpu::find_gpu(machine, {device.gpu_uuid});
  if (device.mig || (gpu != nullptr && gpu->mig_enabled())) {
    return fmt::format(
        "sharing using MPS is not supported for MIG devices; use sharing.timeSlicing for {}, or "
        "disable MIG",
        name.value);
  }
  if (gpu == nullptr) return {};
  const int most = most_mps_clients(gpu->compute_capability);
  if (replicas <= most) return {};
  return fmt::format(
      "sharing.mps: maximum allowed replicas exceeded: {} > {}; GPU {} ({}) serves no more MPS "
      "clients: lower `replicas` of {}, or use sharing.timeSlicing",
      replicas, most, device.index, gpu->name, name.value);
}

std::vector<MpsNamespace> mps_namespaces(const ResourceOffer& offer) {
  const auto counts = tranche_counts(offer);
  std::vector<MpsNamespace> all = {{std::string(kMpsDefault), largest_part(offer, counts, 1)}};
  if (!differs_by_grant(offer)) return all;
  for (int n = 1; n <= std::ranges::max(counts); ++n) {
    all.push_back({namespace_name(offer, n), largest_part(offer, counts, n)});
  }
  return all;
}

MpsShare mps_default(const ResourceOffer& offer, std::size_t device) {
  const int replicas = std::max(1, tranche_counts(offer).at(device));
  if (!holds(offer)) return equal_share(offer.devices[device], replicas);
  if (differs_by_grant(offer)) return {};
  const std::string id = replica_id(offer.devices[device].uuid, 0);
  const auto limits = limits_for(offer, std::span(&id, 1));
  if (!limits) return {};
  const DeviceLimits& part = limits->devices.front();
  return {.memory = part.memory, .thread_percentage = percentage(offer.limits->rules, part.weight)};
}

std::set<std::string> mps_gpus(const ResourceOffer& offer) {
  std::set<std::string> gpus;
  if (offer.sharing != config::SharingStrategy::kMps) return gpus;
  const auto counts = tranche_counts(offer);
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    if (counts[i] > 1) gpus.insert(offer.devices[i].uuid);
  }
  return gpus;
}

void add_mps(const ResourceOffer& offer, std::span<const std::string> ids,
             const std::string& mps_root, Grant& grant) {
  if (offer.sharing != config::SharingStrategy::kMps) return;
  if (!std::ranges::any_of(ids, [](const std::string& id) { return is_replica_id(id); })) return;
  std::string folder = fmt::format("/{}/pipe", offer.name.value);
  if (offer.mps.namespaces) {
    folder += join_namespace(offer, ids, grant);
  } else {
    lower_by_environment(offer, ids, grant);
  }
  connect(folder, mps_root, grant.envs, grant.mounts);
  const auto partition = offer.mps.partitions.find(ids.front());
  if (partition != offer.mps.partitions.end()) {
    grant.envs["CUDA_MPS_SM_PARTITION"] = partition->second;
  }
}

}  // namespace tranche::offer
