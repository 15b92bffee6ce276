#include "agent/metrics/node_usage_of.h"

#include <algorithm>
#include <utility>

namespace tranche::agent {
namespace {

std::optional<std::uint32_t> number(int value) {
  return value < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(value));
}

// As the instance has it: of what the profile promises, the driver keeps a part.
std::optional<std::uint64_t> memory_of(const gpu::MigInstance& instance,
                                       const std::optional<gpu::FastReading>& fast) {
  if (fast) {
    const auto read =
        std::ranges::find(fast->instances, instance.uuid.value, &gpu::FastReading::Instance::uuid);
    if (read != fast->instances.end() && read->figures) return read->figures->total.value;
  }
  const auto told = instance.attributes.memory.value;
  return told > 0 ? std::optional(told) : std::nullopt;
}

usage::InstanceUsage usage_of(const gpu::MigInstance& instance,
                              const std::optional<gpu::FastReading>& fast) {
  usage::InstanceUsage usage{.uuid = instance.uuid.value,
                             .profile = instance.profile.name,
                             .gpu_instance = number(instance.gpu_instance_id).value_or(0),
                             .memory = memory_of(instance, fast)};
  if (instance.placement) {
    usage.start = number(instance.placement->start);
    usage.size = number(instance.placement->size);
  }
  return usage;
}

void add_fast(usage::GpuUsage& usage, const gpu::FastFigures& fast) {
  if (fast.memory) {
    usage.memory_total = fast.memory->total.value;
    usage.memory_used = fast.memory->used.value;
  }
  if (fast.gpu_percent) usage.utilization = std::min(1.0, *fast.gpu_percent / 100.0);
  if (fast.temperature_c) usage.temperature_c = *fast.temperature_c;
  if (fast.power_mw) usage.power_w = *fast.power_mw / 1000.0;
}

usage::GpuUsage usage_of(const metrics::GpuFigures& one,
                         const std::vector<usage::MemoryAccount>& accounts) {
  usage::GpuUsage usage{.index = number(one.gpu.index).value_or(0),
                        .uuid = one.gpu.uuid.value,
                        .model = one.gpu.name,
                        .mig = one.gpu.mig_enabled(),
                        .last_xid = one.last_xid};
  for (const auto& instance : one.gpu.mig_instances) {
    usage.instances.push_back(usage_of(instance, one.fast));
  }
  const auto account = std::ranges::find(accounts, usage.uuid, &usage::MemoryAccount::gpu);
  if (account != accounts.end()) usage.memory = *account;
  if (one.fast) add_fast(usage, one.fast->figures);
  return usage;
}

}  // namespace

usage::NodeUsage node_usage_of(const metrics::NodeFigures& figures,
                               std::chrono::system_clock::time_point now, std::string version) {
  usage::NodeUsage usage{.node = figures.node,
                         .taken_at = std::chrono::floor<std::chrono::milliseconds>(now),
                         .agent = std::move(version),
                         .driver_version = figures.driver_version,
                         .containers = figures.containers,
                         .processes = figures.processes,
                         .tranches = figures.tranches,
                         .checks = figures.checks,
                         .age = figures.fast_age};
  for (const auto& one : figures.gpus) usage.gpus.push_back(usage_of(one, figures.memory));
  std::ranges::stable_sort(usage.gpus, {}, &usage::GpuUsage::index);
  return usage;
}

}  // namespace tranche::agent
