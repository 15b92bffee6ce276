#include "mps/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "offer/mps.h"

namespace tranche::mps {
namespace {

std::optional<Daemon> daemon_of(const gpu::Machine& machine, const offer::ResourceOffer& resource) {
  Daemon daemon{.resource = resource.name, .devices = {}};
  const auto counts = offer::tranche_counts(resource);
  for (std::size_t i = 0; i < resource.devices.size(); ++i) {
    const offer::Device& device = resource.devices[i];
    if (counts[i] <= 1) continue;
    const auto share = offer::mps_default(resource, i);
    DaemonDevice entry{
        .uuid = device.uuid, .index = device.gpu_index, .memory_mib = device.memory.mib()};
    if (share.memory) entry.limit_mib = share.memory->mib();
    daemon.devices.push_back(std::move(entry));
    // One value for all devices: what is left over by the device with the most replicas.
    daemon.thread_percentage = std::min(daemon.thread_percentage, share.thread_percentage);
  }
  if (daemon.devices.empty()) return std::nullopt;
  std::ranges::sort(daemon.devices, {}, &DaemonDevice::index);
  daemon.sees_all = daemon.devices.size() == machine.gpus.size();
  if (!daemon.sees_all) {
    int next = 0;
    for (DaemonDevice& device : daemon.devices) device.index = next++;
  }
  return daemon;
}

}  // namespace

Plan make_plan(const gpu::Machine& machine, const offer::Offer& offer) {
  Plan plan;
  for (const auto& resource : offer.resources) {
    if (resource.sharing != config::SharingStrategy::kMps) continue;
    if (auto daemon = daemon_of(machine, resource)) plan.push_back(*std::move(daemon));
  }
  return plan;
}

Paths paths_of(const std::filesystem::path& root, const config::ResourceName& resource) {
  const auto folder = root / resource.value;
  return {.pipe = folder / "pipe", .log = folder / "log", .started = folder / ".started"};
}

std::map<std::string, std::string> environment_of(const std::filesystem::path& root,
                                                  const Daemon& daemon) {
  const auto paths = paths_of(root, daemon.resource);
  std::map<std::string, std::string> environment = {
      {"CUDA_MPS_PIPE_DIRECTORY", paths.pipe.string()},
      {"CUDA_MPS_LOG_DIRECTORY", paths.log.string()},
      // NVML's order; CUDA's own puts the fastest first.
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
  };
  if (daemon.sees_all) return environment;
  std::vector<std::string_view> uuids;
  uuids.reserve(daemon.devices.size());
  for (const DaemonDevice& device : daemon.devices) uuids.push_back(device.uuid);
  environment["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(uuids, ","));
  return environment;
}

std::vector<std::string> default_commands(const Daemon& daemon) {
  std::vector<std::string> commands;
  for (const DaemonDevice& device : daemon.devices) {
    if (!device.limit_mib) continue;
    commands.push_back(
        fmt::format("set_default_device_pinned_mem_limit {} {}M", device.index, *device.limit_mib));
  }
  commands.push_back(
      fmt::format("set_default_active_thread_percentage {}", daemon.thread_percentage));
  return commands;
}

}  // namespace tranche::mps
