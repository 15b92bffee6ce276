#include "agent/health/gpu_health.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

// More do not fit into a message; the log has each.
constexpr std::size_t kMostListed = 8;

unsigned index_of(const gpu::Gpu& gpu) { return static_cast<unsigned>(gpu.index); }

UnhealthyDevice whole(const gpu::Gpu& gpu, const std::string& name, const std::string& reason) {
  UnhealthyDevice device{.name = name,
                         .reason = reason,
                         .uuids = {gpu.uuid.value},
                         .index = index_of(gpu),
                         .presence = gpu.presence};
  for (const auto& instance : gpu.mig_instances) device.uuids.push_back(instance.uuid.value);
  return device;
}

}  // namespace

UnhealthyDevices unhealthy_devices(const gpu::Machine& machine, const gpu::HealthReport& health) {
  UnhealthyDevices devices;
  for (const auto& gpu : machine.gpus) {
    const auto name = fmt::format("GPU {} ({})", gpu.index, gpu.uuid.value);
    if (const auto found = health.find(gpu.uuid.value); found != health.end()) {
      devices.emplace(gpu.uuid.value, whole(gpu, name, found->second));
      continue;
    }
    for (const auto& instance : gpu.mig_instances) {
      const auto& uuid = instance.uuid.value;
      const auto found = health.find(uuid);
      if (found == health.end()) continue;
      devices.emplace(uuid, UnhealthyDevice{.name = fmt::format("{} of {}", uuid, name),
                                            .reason = found->second,
                                            .uuids = {uuid},
                                            .index = index_of(gpu)});
    }
  }
  return devices;
}

std::string describe(std::vector<UnhealthyDevice> devices) {
  std::ranges::stable_sort(devices, {}, &UnhealthyDevice::index);
  std::string text;
  const std::string* reason = nullptr;
  for (std::size_t i = 0; i < std::min(devices.size(), kMostListed); ++i) {
    const auto& device = devices[i];
    if (reason != nullptr && *reason == device.reason) {
      text += ", " + device.name;
      continue;
    }
    if (reason != nullptr) text += fmt::format(": {}; ", *reason);
    text += device.name;
    reason = &device.reason;
  }
  if (reason != nullptr) text += fmt::format(": {}", *reason);
  if (devices.size() <= kMostListed) return text;
  return fmt::format("{}; and {} more", text, devices.size() - kMostListed);
}

namespace {

bool are_all_lost(const UnhealthyDevices& devices, std::size_t gpus) {
  return devices.size() == gpus && std::ranges::all_of(devices, [](const auto& entry) {
           return entry.second.presence == gpu::Presence::kLost;
         });
}

}  // namespace

ConditionReport health_condition(const UnhealthyDevices& devices, std::size_t gpus) {
  std::vector<UnhealthyDevice> listed;
  for (const auto& [uuid, device] : devices) listed.push_back(device);
  ConditionReport report{.type = kGpuHealthyCondition,
                         .good = devices.empty(),
                         .reason = cluster::reason::kGpusHealthy,
                         .message = "every GPU is healthy",
                         .action = "Watch",
                         .written_while_good = gpus > 0,
                         .as_event = false};
  if (report.good) return report;
  report.reason = cluster::reason::kGpuUnhealthy;
  report.message = describe(listed);
  if (!are_all_lost(devices, gpus)) return report;
  report.reason = cluster::reason::kNoGpuAnswers;
  report.message = fmt::format(
      "the driver answers for none of this node's GPUs; it may not be loaded (lsmod | grep nvidia, "
      "nvidia-smi): {}",
      report.message);
  return report;
}

}  // namespace tranche::agent
