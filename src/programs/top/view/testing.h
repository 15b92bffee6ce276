#pragma once
// Readings for tests.

#include <chrono>
#include <string>

#include "top/view/reading.h"

namespace tranche::top::testing {

inline constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kGi = std::uint64_t{1} << 30U;

inline std::chrono::system_clock::time_point at(int seconds) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(1'800'000'000 + seconds));
}

inline usage::GpuUsage t4() {
  return {.index = 0,
          .uuid = "GPU-0",
          .model = "Tesla T4",
          .memory = usage::MemoryAccount{.gpu = "GPU-0",
                                         .total = 15 * kGi,
                                         .free = 4 * kGi,
                                         .reserved = kGi / 2,
                                         .containers = 8 * kGi,
                                         .host_processes = kGi,
                                         .unknown = kGi / 2,
                                         .unattributed = kGi},
          .memory_total = 15 * kGi,
          .memory_used = 10 * kGi + kGi / 2,
          .utilization = 0.62,
          .temperature_c = 76,
          .power_w = 58.4};
}

inline usage::GpuUsage h100_mig() {
  return {.index = 1,
          .uuid = "GPU-1",
          .model = "NVIDIA H100",
          .mig = true,
          .instances = {{.uuid = "MIG-a",
                         .profile = "1g.10gb",
                         .gpu_instance = 7,
                         .memory = 10 * kGi,
                         .start = 0,
                         .size = 1}},
          .memory_total = 80 * kGi,
          .memory_used = 2 * kGi};
}

inline usage::ContainerFigures container(const std::string& pod, std::uint64_t used) {
  return {.ns = "team-a",
          .pod = pod,
          .container = "main",
          .resource = "nvidia.com/gpu.shared",
          .mechanism = usage::Mechanism::kTimeSlicing,
          .tier = "silver",
          .gpu = "GPU-0",
          .device = "GPU-0",
          .gpus = 0.25,
          .attributed = true,
          .processes = 1,
          .memory_used = used,
          .memory_peak = used + kGi / 4,
          .memory_limit = 8 * kGi,
          .compute_promised = 0.25,
          .compute = std::chrono::seconds(9),
          .compute_share = 0.48,
          .waited_share = 0.1};
}

// A node with a shared T4, where one container is told apart and one is not, and an H100 in MIG
// mode.
inline usage::NodeUsage node_usage(const std::string& node = "gpu-1") {
  usage::NodeUsage usage{.node = node,
                         .taken_at = at(0),
                         .agent = "0.1.0",
                         .driver_version = "570.158.01",
                         .gpus = {t4(), h100_mig()},
                         .age = std::chrono::milliseconds(300)};
  auto dark = container("notebook-0", 0);
  dark.attributed = false;
  dark.memory_used = dark.memory_peak = dark.memory_limit = std::nullopt;
  dark.compute_share = dark.waited_share = dark.compute_promised = std::nullopt;
  dark.compute = std::nullopt;
  auto idle = container("idle-0", 0);
  idle.compute_share = idle.waited_share = 0;
  idle.memory_peak = 0;
  auto mig = container("mig-0", 2 * kGi);
  mig.ns = "team-b";
  mig.resource = "nvidia.com/mig-1g.10gb";
  mig.mechanism = usage::Mechanism::kMig;
  mig.tier.clear();
  mig.gpu = "GPU-1";
  mig.device = "MIG-a";
  mig.mig_profile = "1g.10gb";
  mig.memory_limit = std::nullopt;
  mig.compute_promised = std::nullopt;
  usage.containers = {idle, dark, container("train-0", 7 * kGi + kGi / 2), mig};
  usage.processes = {{.pid = 4711,
                      .name = "python",
                      .device = "GPU-0",
                      .owner = usage::ProcessOwner::kContainer,
                      .ns = "team-a",
                      .pod = "train-0",
                      .container = "main",
                      .memory = 7 * kGi + kGi / 2,
                      .busy = 0.5},
                     {.pid = 99,
                      .name = "Xorg",
                      .device = "GPU-0",
                      .owner = usage::ProcessOwner::kHost,
                      .memory = kGi,
                      .busy = 0.0},
                     {.pid = 100, .device = "GPU-0", .memory = kGi / 2}};
  return usage;
}

inline Reading node_reading() { return reading_of(node_usage()); }

// Three nodes: one that reports, one whose figures are old, one that is silent.
inline Reading fleet_reading() {
  fleet::Fleet fleet{.cluster = "prod", .taken_at = at(0)};
  fleet::FleetNode fresh{.name = "gpu-1", .reporting = fleet::Reporting::kFresh};
  fresh.usage = node_usage("gpu-1");
  fresh.usage.processes.clear();
  fleet::FleetNode stale{
      .name = "gpu-2", .reporting = fleet::Reporting::kStale, .why = "no answer in time"};
  stale.closed = "cordoned";
  stale.usage = node_usage("gpu-2");
  stale.usage.processes.clear();
  fleet::FleetNode silent{.name = "gpu-3", .why = "no agent runs there"};
  silent.usage.node = "gpu-3";
  silent.usage.gpus = {{.index = 0, .uuid = "GPU-3", .model = "NVIDIA L20"}};
  fleet.nodes = {fresh, stale, silent};
  fleet.waiting = {{.ns = "a", .pod = "p", .since = at(-60), .cause = fleet::Cause::kNotEnough}};
  return reading_of(std::move(fleet));
}

}  // namespace tranche::top::testing
