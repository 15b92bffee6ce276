#include "mps/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mps/protocol.h"
#include "offer/mps.h"

namespace tranche::mps {
namespace {

// The first architecture whose multiprocessors MPS can partition.
constexpr gpu::ComputeCapability kAmpere{8, 0};

std::vector<Namespace> namespaces_of(const offer::ResourceOffer& resource) {
  std::vector<Namespace> all;
  for (const auto& [name, share] : offer::mps_namespaces(resource)) {
    Namespace one{.name = name, .limit_mib = {}, .thread_percentage = share.thread_percentage};
    if (share.memory) one.limit_mib = share.memory->mib();
    all.push_back(std::move(one));
  }
  return all;
}

void leave_open(Daemon& daemon) {
  daemon.open = true;
  daemon.thread_percentage = 100;
  for (DaemonDevice& device : daemon.devices) device.limit_mib.reset();
  for (Namespace& one : daemon.namespaces) {
    one.limit_mib.reset();
    one.thread_percentage = 100;
  }
}

std::optional<Daemon> daemon_of(const gpu::Machine& machine, const offer::ResourceOffer& resource,
                                const config::MpsControlRules& rules, bool open) {
  Daemon daemon{.resource = resource.name, .devices = {}, .protocol = rules.protocol};
  if (protocol_of(rules.protocol).has_namespaces()) daemon.namespaces = namespaces_of(resource);
  if (!open && partitions_objection(machine, resource).empty()) {
    daemon.partitions = rules.sm_partitions;
  }
  const auto counts = offer::tranche_counts(resource);
  for (std::size_t i = 0; i < resource.devices.size(); ++i) {
    const offer::Device& device = resource.devices[i];
    if (counts[i] <= 1) continue;
    const auto share = offer::mps_default(resource, i);
    DaemonDevice entry{
        .uuid = device.uuid, .index = device.gpu_index, .memory_mib = device.memory.mib()};
    if (has_partitions(daemon)) entry.replicas = counts[i];
    if (share.memory) entry.limit_mib = share.memory->mib();
    daemon.devices.push_back(std::move(entry));
    // One value for all devices: the smallest share, which is that of the device with the most
    // replicas.
    daemon.thread_percentage = std::min(daemon.thread_percentage, share.thread_percentage);
  }
  if (daemon.devices.empty()) return std::nullopt;
  if (open) leave_open(daemon);
  std::ranges::sort(daemon.devices, {}, &DaemonDevice::index);
  daemon.sees_all = daemon.devices.size() == machine.gpus.size();
  if (!daemon.sees_all) {
    int next = 0;
    for (DaemonDevice& device : daemon.devices) device.index = next++;
  }
  return daemon;
}

}  // namespace

Plan make_plan(const gpu::Machine& machine, const offer::Offer& offer,
               const config::MpsControlRules& rules, const std::set<std::string>& open) {
  Plan plan;
  for (const auto& resource : offer.resources) {
    if (resource.sharing != config::SharingStrategy::kMps) continue;
    const bool is_open = open.contains(resource.name.value);
    if (auto daemon = daemon_of(machine, resource, rules, is_open)) {
      plan.push_back(*std::move(daemon));
    }
  }
  return plan;
}

Plan keep_withheld(Plan plan, const Plan& before, const gpu::Machine& machine,
                   const offer::Offer& offer) {
  const auto is_mig = [&](const DaemonDevice& device) {
    const auto* gpu = gpu::find_gpu(machine, {device.uuid});
    return gpu != nullptr && gpu->mig_enabled();
  };
  for (const Daemon& daemon : before) {
    const bool withheld = offer.find(daemon.resource) == nullptr &&
                          std::ranges::find(offer.withheld, daemon.resource,
                                            &offer::Withheld::name) != offer.withheld.end();
    if (withheld && std::ranges::none_of(daemon.devices, is_mig)) plan.push_back(daemon);
  }
  std::ranges::sort(plan, {}, &Daemon::resource);
  return plan;
}

std::string partitions_objection(const gpu::Machine& machine,
                                 const offer::ResourceOffer& resource) {
  const auto counts = offer::tranche_counts(resource);
  for (std::size_t i = 0; i < resource.devices.size(); ++i) {
    const gpu::Gpu* gpu = gpu::find_gpu(machine, {resource.devices[i].gpu_uuid});
    if (counts[i] <= 1 || gpu == nullptr || !(gpu->compute_capability < kAmpere)) continue;
    return fmt::format(
        "tranche.mps.smPartitions: GPU {} ({}) of {} has no static SM partitions (Ampere, compute "
        "capability 8.0, and later have); clients of {} are limited by percentages",
        gpu->index, gpu->name, resource.name.value, resource.name.value);
  }
  return {};
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
      // This is NVML's order. CUDA's default puts the fastest GPU first.
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
  };
  if (daemon.sees_all) return environment;
  std::vector<std::string_view> uuids;
  uuids.reserve(daemon.devices.size());
  for (const DaemonDevice& device : daemon.devices) uuids.push_back(device.uuid);
  environment["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(uuids, ","));
  return environment;
}

}  // namespace tranche::mps
