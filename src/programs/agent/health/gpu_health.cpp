#include "agent/health/gpu_health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

// More do not fit into a message; the log has each.
constexpr std::size_t kMostListed = 8;

UnhealthyDevice whole(const gpu::Gpu& gpu, const std::string& name, const std::string& reason) {
  UnhealthyDevice device{.name = name, .reason = reason, .uuids = {gpu.uuid.value}};
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
                                            .uuids = {uuid}});
    }
  }
  return devices;
}

std::string describe(const std::vector<UnhealthyDevice>& devices) {
  std::vector<std::string> texts;
  for (const auto& device : devices) {
    if (texts.size() == kMostListed) {
      texts.push_back(fmt::format("and {} more", devices.size() - kMostListed));
      break;
    }
    texts.push_back(fmt::format("{}: {}", device.name, device.reason));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

ConditionReport health_condition(const UnhealthyDevices& devices, std::size_t gpus) {
  std::vector<UnhealthyDevice> listed;
  for (const auto& [uuid, device] : devices) listed.push_back(device);
  return {
      .type = kGpuHealthyCondition,
      .good = devices.empty(),
      .reason = devices.empty() ? cluster::reason::kGpusHealthy : cluster::reason::kGpuUnhealthy,
      .message = devices.empty() ? "every GPU is healthy" : describe(listed),
      .action = "Watch",
      .written_while_good = gpus > 0,
      .as_event = false};
}

}  // namespace tranche::agent
