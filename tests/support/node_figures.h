#pragma once
// Builders of metrics::NodeFigures for tests and benchmarks. Every value is fixed by the arguments.

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "metrics/node_figures.h"
#include "support/machines.h"

namespace tranche::test {

inline gpu::FastFigures busy_fast() {
  return {.memory = gpu::MemoryFigures{.total = Bytes::from_mib(40960),
                                       .used = Bytes::from_mib(30000),
                                       .free = Bytes::from_mib(10360),
                                       .reserved = Bytes::from_mib(600)},
          .gpu_percent = 97,
          .memory_percent = 40,
          .encoder_percent = 0,
          .decoder_percent = 5,
          .sm_clock_mhz = 1410,
          .memory_clock_mhz = 1215,
          .temperature_c = 61,
          .memory_temperature_c = 70,
          .power_mw = 287'412,
          .remapped_uncorrectable = 0,
          .remapped_correctable = 1,
          .remap_failed = false};
}

inline gpu::Activity busy_engines() {
  return {.graphics = 0.96,
          .sm = 0.8125,
          .sm_occupancy = 0.41,
          .tensor = 0.3,
          .dram = 0.25,
          .fp64 = 0,
          .fp32 = 0.125,
          .fp16 = 0.0625};
}

inline gpu::Activity busy_activity() {
  gpu::Activity activity = busy_engines();
  activity.pcie_sent = 1.25e9;
  activity.pcie_received = 2.5e8;
  activity.nvlink_sent = 1.5e11;
  activity.nvlink_received = 1.5e11;
  return activity;
}

inline gpu::SlowFigures busy_slow() {
  return {.energy_mj = 123'456'789'012,
          .pcie_replays = 3,
          .throttled_by_power = std::chrono::nanoseconds(12'000'000'034),
          .throttled_by_heat = std::chrono::nanoseconds(0),
          .activity = busy_activity()};
}

// A GPU of which everything is known. Its MIG instances have half a GPU's memory each, and no GPU
// with instances has engines of its own.
inline metrics::GpuFigures busy_gpu(const gpu::Gpu& gpu) {
  metrics::GpuFigures figures{
      .gpu = gpu,
      .fast = gpu::FastReading{.uuid = gpu.uuid.value, .figures = busy_fast()},
      .slow = gpu::SlowReading{.uuid = gpu.uuid.value, .figures = busy_slow()}};
  for (const auto& instance : gpu.mig_instances) {
    const gpu::MemoryFigures half{.total = Bytes::from_mib(19968),
                                  .used = Bytes::from_mib(12000),
                                  .free = Bytes::from_mib(7900),
                                  .reserved = Bytes::from_mib(68)};
    figures.fast->instances.push_back({.uuid = instance.uuid.value, .figures = half});
    figures.slow->instances.push_back({.uuid = instance.uuid.value, .figures = busy_engines()});
  }
  return figures;
}

// A container that has a share of this GPU, and all figures but the estimate.
inline usage::ContainerFigures sharing_container(int gpu, int number, double share) {
  return {.ns = fmt::format("team-{}", number % 7),
          .pod = fmt::format("inference-{}-{:05}-7d4b9c6f5-x2x9{}", gpu, number, number % 10),
          .container = "server",
          .resource = "nvidia.com/gpu.shared",
          .mechanism = usage::Mechanism::kShare,
          .gpu = gpu_uuid(gpu),
          .device = gpu_uuid(gpu),
          .gpus = share,
          .attributed = true,
          .processes = 1,
          .memory_used = 512'000'000U + static_cast<std::uint64_t>(number),
          .memory_peak = 612'000'000,
          .memory_limit = 800'000'000,
          .compute_promised = share,
          .compute = std::chrono::nanoseconds(987'654'321'000'123 + number),
          .compute_asked = std::chrono::seconds(1'000'000),
          .waited = std::chrono::milliseconds(1'500),
          .launches = 123'456,
          .allocation_failures = 2};
}

// `gpus` GPUs, each shared by `containers` containers.
inline metrics::NodeFigures shared_node(int gpus, int containers) {
  metrics::NodeFigures figures{.node = "gpu-node-01.example.net", .driver_version = "570.158.01"};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    figures.gpus.push_back(busy_gpu(a100_40gb(gpu).build()));
    for (int number = 0; number < containers; ++number) {
      figures.containers.push_back(sharing_container(gpu, number, 1.0 / containers));
    }
    figures.memory.push_back({.gpu = gpu_uuid(gpu),
                              .total = Bytes::from_mib(40960).value,
                              .free = Bytes::from_mib(10360).value,
                              .reserved = Bytes::from_mib(600).value,
                              .containers = Bytes::from_mib(29000).value,
                              .host_processes = Bytes::from_mib(700).value,
                              .unknown = Bytes::from_mib(200).value,
                              .unattributed = Bytes::from_mib(100).value});
  }
  figures.tranches = {{.resource = "nvidia.com/gpu.shared",
                       .mechanism = usage::Mechanism::kShare,
                       .advertised = static_cast<std::uint64_t>(gpus * containers),
                       .allocated = static_cast<std::uint64_t>(gpus * containers)}};
  for (const char* check :
       {"arbiter", "control-groups", "driver", "host-processes", "kubelet", "pods"}) {
    figures.checks.push_back({.name = check, .works = true});
  }
  figures.fast_age = std::chrono::milliseconds(250);
  figures.slow_age = std::chrono::milliseconds(1'750);
  return figures;
}

}  // namespace tranche::test
