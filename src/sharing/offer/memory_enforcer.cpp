#include "offer/memory_enforcer.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::offer {

std::string kernel_objection(const gpu::Machine& machine, const Device& device) {
  if (device.mig) {
    return fmt::format("the driver takes none for MIG instances such as {}", device.index);
  }
  if (!machine.host.cgroup_v2) {
    return "the node's control groups are not of version 2 alone; boot it with "
           "systemd.unified_cgroup_hierarchy=1";
  }
  const auto* gpu = gpu::find_gpu(machine, {device.gpu_uuid});
  if (gpu == nullptr || !gpu->kernel_memory_limits) {
    return fmt::format(
        "GPU {} with driver {} has none; they begin with drivers of branch r615, on GPUs that are "
        "not in MIG mode",
        device.index, machine.driver_version.empty() ? "?" : machine.driver_version);
  }
  return {};
}

MemoryEnforcer choose_enforcer(const config::Limits& rules, const EnforcerFacts& facts) {
  if (facts.is_own_instance) return MemoryEnforcer::kMig;
  if (rules.wants_kernel() && facts.by_kernel) return MemoryEnforcer::kKernel;
  if (facts.by_mps) return MemoryEnforcer::kMps;
  return MemoryEnforcer::kLimiter;
}

std::string described(MemoryEnforcer enforcer) {
  if (enforcer == MemoryEnforcer::kMps) return "MPS and the limiter";
  return fmt::format("the {}", to_string(enforcer));
}

MemoryEnforcer weakest(std::span<const MemoryEnforcer> enforcers) {
  return enforcers.empty() ? MemoryEnforcer::kLimiter : *std::ranges::max_element(enforcers);
}

}  // namespace tranche::offer
