#include "gpu/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::gpu::machine_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Gpu gpu(int index, const char* uuid) {
  Gpu gpu;
  gpu.index = index;
  gpu.uuid = {uuid};
  gpu.name = "NVIDIA L20";
  gpu.memory = Bytes::from_mib(46068);
  return gpu;
}

TEST(FindGpu, FindsByUuidOrNot) {
  Machine machine;
  machine.gpus = {gpu(0, "GPU-a"), gpu(1, "GPU-b")};
  EXPECT_EQ(find_gpu(machine, {"GPU-b"}), &machine.gpus[1]);
  EXPECT_EQ(find_gpu(machine, {"GPU-c"}), nullptr);
}

TEST(RememberLost, NothingLostChangesNothing) {
  Machine machine;
  machine.gpus = {gpu(0, "GPU-a"), gpu(1, "GPU-b")};
  EXPECT_EQ(remember_lost(machine, machine), machine);
  EXPECT_EQ(remember_lost({}, machine), machine);
}

TEST(RememberLost, AddsWhatVanishedInIndexOrder) {
  Machine before;
  before.gpus = {gpu(0, "GPU-a"), gpu(1, "GPU-b"), gpu(2, "GPU-c")};
  Machine now;
  now.gpus = {gpu(0, "GPU-a"), gpu(1, "GPU-c")};  // NVML has renumbered the GPUs
  const auto result = remember_lost(before, now);
  EXPECT_THAT(result.gpus,
              ElementsAre(Field(&Gpu::uuid, GpuUuid{"GPU-a"}), Field(&Gpu::uuid, GpuUuid{"GPU-c"}),
                          Field(&Gpu::uuid, GpuUuid{"GPU-b"})));
  EXPECT_EQ(result.gpus[2].presence, Presence::kLost);
  EXPECT_EQ(result.gpus[2].memory, Bytes::from_mib(46068));
  EXPECT_FALSE(result.gpus[2].presence_reason.empty());
}

TEST(RememberLost, KeepsTheDescriptionOfTheUnreachable) {
  Machine before;
  before.gpus = {gpu(0, "GPU-a")};
  before.gpus[0].mig_mode = MigMode::kEnabled;
  before.gpus[0].mig_instances = {{.uuid = {"MIG-1"}}};
  Machine now;
  now.gpus = {{.index = 0,
               .uuid = {"GPU-a"},
               .presence = Presence::kUnknown,
               .presence_reason = "nvmlDeviceGetName hangs"}};
  const auto result = remember_lost(before, now);
  auto expected = before.gpus[0];
  expected.presence = Presence::kUnknown;
  expected.presence_reason = "nvmlDeviceGetName hangs";
  EXPECT_THAT(result.gpus, ElementsAre(expected));
}

TEST(RememberLost, ComesBack) {
  Machine machine;
  machine.gpus = {gpu(0, "GPU-a"), gpu(1, "GPU-b")};
  Machine without;
  without.gpus = {gpu(0, "GPU-a")};
  const auto lost = remember_lost(machine, without);
  ASSERT_EQ(lost.gpus.size(), 2U);
  EXPECT_EQ(remember_lost(lost, machine), machine);
}

TEST(Topology, IsSymmetric) {
  Topology topology(3);
  topology.set(0, 2, {.level = P2pLevel::kNode, .nvlinks = 4});
  EXPECT_EQ(topology.at(2, 0), topology.at(0, 2));
  EXPECT_EQ(topology.at(2, 0).nvlinks, 4);
  EXPECT_EQ(topology.at(0, 1).level, P2pLevel::kUnknown);
}

TEST(Gpu, WhatTheDriverKeepsIsNotUsable) {
  struct Case {
    const char* name;
    std::uint64_t memory;
    std::uint64_t reserved;
    std::uint64_t usable;  // MiB
  };
  constexpr std::uint64_t kMiB = 1U << 20U;
  for (const auto& c : {Case{"nothing", 100 * kMiB, 0, 100}, Case{"some", 100 * kMiB, 7 * kMiB, 93},
                        Case{"rounded down", 100 * kMiB, 7 * kMiB + 1, 92},
                        Case{"not known", 0, 7 * kMiB, 0}, Case{"more than all", 5, 7 * kMiB, 1}}) {
    Gpu gpu;
    gpu.memory = {c.memory};
    gpu.reserved = {c.reserved};
    EXPECT_EQ(gpu.usable_memory(), Bytes::from_mib(c.usable)) << c.name;
  }
}

}  // namespace
}  // namespace tranche::gpu::machine_test
