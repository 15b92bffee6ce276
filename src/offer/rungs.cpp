#include "offer/rungs.h"

#include <fmt/format.h>

#include <algorithm>

#include "offer/offer.h"

namespace tranche::offer {

std::string_view to_string(Rung rung) {
  switch (rung) {
    case Rung::kMig:
      return "mig";
    case Rung::kKernel:
      return "kernel";
    case Rung::kMps:
      return "mps";
    case Rung::kLimiter:
      break;
  }
  return "limiter";
}

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

Rung choose_rung(const config::Limits& rules, const RungFacts& facts) {
  if (facts.is_own_instance) return Rung::kMig;
  if (rules.wants_kernel() && facts.by_kernel) return Rung::kKernel;
  if (facts.by_mps) return Rung::kMps;
  return Rung::kLimiter;
}

Rung weakest(std::span<const Rung> rungs) {
  return rungs.empty() ? Rung::kLimiter : *std::ranges::max_element(rungs);
}

}  // namespace tranche::offer
