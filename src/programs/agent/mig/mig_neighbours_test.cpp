#include "agent/mig/mig_neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/mig_tables.h"

namespace tranche::agent::mig_neighbours_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

gpu::GpuUuid uuid(int i) { return {"GPU-" + std::to_string(i)}; }

gpu::Machine machine_of(int gpus) {
  const auto* model = gpu::find_mig_model("a100-80gb");
  gpu::Machine machine;
  for (int i = 0; i < gpus; ++i) {
    machine.gpus.push_back({.index = i,
                            .uuid = uuid(i),
                            .name = std::string(model->product_names.front()),
                            .minor = i,
                            .memory = Bytes::from_mib(81920),
                            .compute_capability = {8, 0},
                            .mig_mode = gpu::MigMode::kDisabled,
                            .mig_geometry = model->geometry});
  }
  return machine;
}

config::ReplicatedResource entry(std::vector<std::string> devices, const char* rename = "") {
  config::ReplicatedResource one{.name = {"nvidia.com/gpu"}, .replicas = 4};
  if (!devices.empty()) one.devices = config::DeviceList{std::move(devices)};
  if (*rename != '\0') one.rename = {rename};
  return one;
}

config::Config by_mps(std::vector<config::ReplicatedResource> entries) {
  config::Config config;
  config.flags.mig_strategy = config::MigStrategy::kNone;
  config.sharing.mps = config::ReplicatedResources{.resources = std::move(entries)};
  return config;
}

mig::Journal journal(std::vector<int> gpus, bool on) {
  mig::Journal journal;
  for (const int i : gpus) {
    journal.from[uuid(i)].enabled = !on;
    journal.to[uuid(i)].enabled = on;
  }
  return journal;
}

TEST(MigNeighbours, GpusOfOneDaemonLeaveServiceTogetherAndAreToldWhy) {
  const auto found = neighbours(journal({0}, true), machine_of(3), by_mps({entry({})}));
  EXPECT_THAT(
      found.gpus,
      ElementsAre(Pair("GPU-1", "shares the MPS control daemon of nvidia.com/gpu with GPU 0"),
                  Pair("GPU-2", "shares the MPS control daemon of nvidia.com/gpu with GPU 0")));
  EXPECT_THAT(found.resources, ElementsAre("nvidia.com/gpu"));
  EXPECT_THAT(found.served_after, ElementsAre("nvidia.com/gpu"));
  EXPECT_EQ(describe(found),
            "all of nvidia.com/gpu leaves service, for one MPS control daemon serves its GPUs");
}

TEST(MigNeighbours, AGpuThatComesToADaemonTakesItsOthersOutOfService) {
  const auto machine = with_layouts(machine_of(2), journal({0}, true).to);
  const auto found = neighbours(journal({0}, false), machine, by_mps({entry({})}));
  EXPECT_THAT(
      found.gpus,
      ElementsAre(Pair("GPU-1", "shares the MPS control daemon of nvidia.com/gpu with GPU 0")));
}

TEST(MigNeighbours, TheMachineMayBeOnTheWayAlready) {
  const auto change = journal({0}, true);
  const auto config = by_mps({entry({})});
  EXPECT_EQ(neighbours(change, machine_of(2), config),
            neighbours(change, with_layouts(machine_of(2), change.to), config));
}

TEST(MigNeighbours, DaemonsOfOtherGpusGoOnServing) {
  const auto config = by_mps({entry({"0"}, "nvidia.com/a"), entry({"1", "2"}, "nvidia.com/b")});
  const auto found = neighbours(journal({1}, true), machine_of(3), config);
  EXPECT_THAT(
      found.gpus,
      ElementsAre(Pair("GPU-2", "shares the MPS control daemon of nvidia.com/b with GPU 1")));
  EXPECT_THAT(found.resources, ElementsAre("nvidia.com/b"));
}

TEST(MigNeighbours, WhenAllGpusLeaveNoDaemonIsAwaited) {
  const auto found = neighbours(journal({0, 1}, true), machine_of(2), by_mps({entry({})}));
  EXPECT_THAT(found.gpus, IsEmpty());
  EXPECT_THAT(found.resources, ElementsAre("nvidia.com/gpu"));
  EXPECT_THAT(found.served_after, IsEmpty());
}

TEST(MigNeighbours, WithoutMpsNobodyIs) {
  EXPECT_EQ(neighbours(journal({0}, true), machine_of(2), {}), MigNeighbours());
}

TEST(MigNeighbours, AGpuThatNobodySharesIsOnItsOwn) {
  const auto found = neighbours(journal({1}, true), machine_of(2), by_mps({entry({"0"})}));
  EXPECT_EQ(found, MigNeighbours());
}

}  // namespace
}  // namespace tranche::agent::mig_neighbours_test
