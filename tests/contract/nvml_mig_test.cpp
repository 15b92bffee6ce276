// MIG instances as the reader sees them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sim_machine.h"
#include "nvml/reader.h"
#include "sim/gpu/mig.h"

namespace tranche::nvml::nvml_mig_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kLayout =
    "    mig: {enabled: true, instances: [1g.5gb, 1g.5gb+me, 2g.10gb, 3g.20gb]}\n";

std::vector<std::string> names(const gpu::Machine& machine) {
  std::vector<std::string> names;
  for (const auto& instance : machine.gpus[0].mig_instances) names.push_back(instance.profile.name);
  return names;
}

TEST(NvmlMig, InstancesInSlotOrderWithTheDriversNames) {
  test::SimMachine sim(test::a100_machine(2, kLayout));
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->gpus[0].mig_mode, gpu::MigMode::kEnabled);
  EXPECT_EQ(machine->gpus[1].mig_mode, gpu::MigMode::kDisabled);
  EXPECT_THAT(names(*machine),
              ::testing::UnorderedElementsAre("1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb"));
  int slot = 0;
  for (const auto& instance : machine->gpus[0].mig_instances) {
    EXPECT_EQ(instance.slot, slot++);
    EXPECT_THAT(instance.uuid.value, ::testing::StartsWith("MIG-"));
    EXPECT_GT(instance.attributes.memory.mib(), 4000U);
    EXPECT_GT(instance.attributes.multiprocessors, 0);
    EXPECT_EQ(instance.profile.gpu_slices, instance.profile.compute_slices);
    EXPECT_EQ(instance.profile.name.substr(0, 2), fmt::format("{}g", instance.profile.gpu_slices));
  }
}

TEST(NvmlMig, MemorySlicesOfAnInstance) {
  test::SimMachine sim(test::a100_machine(1, "    mig: {enabled: true, instances: [3g.20gb]}\n"));
  Reader reader(Connection::make(sim.options()));
  const auto placement = [&reader] { return reader.read()->gpus[0].mig_instances.at(0).placement; };
  const auto known = placement();
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->size, 4);
  EXPECT_EQ(known->start % 4, 0);
  sim.fail("nvmlGpuInstanceGetInfo", kUnknown);
  EXPECT_EQ(placement(), known) << "of the same instance, as it was read";
  EXPECT_EQ(Reader(Connection::make(sim.options())).read()->gpus[0].mig_instances.at(0).placement,
            std::nullopt);
}

TEST(NvmlMig, ComputeInstancesThatShareAGpuInstance) {
  test::SimMachine sim(test::a100_machine(
      1, "    mig: {enabled: true, instances: [{profile: 2g.10gb, compute: [1, 1]}]}\n"));
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_THAT(names(*machine), ElementsAre("1c.2g.10gb", "1c.2g.10gb"));
  EXPECT_TRUE(machine->gpus[0].mig_instances[0].profile.partial());
}

TEST(NvmlMig, NamesWithoutPrivilegeAndWithOlderDrivers) {
  struct Case {
    const char* name;
    std::vector<std::pair<const char*, Return>> faults;
  };
  const Case cases[] = {
      {"driver without names in profiles",
       {{"nvmlDeviceGetGpuInstanceProfileInfoV", kFunctionNotFound}}},
      {"driver that refuses the newer structs",
       {{"nvmlDeviceGetGpuInstanceProfileInfoV", kArgumentVersionMismatch}}},
      {"no privilege on GPU instances", {{"nvmlDeviceGetGpuInstanceById", kNoPermission}}},
      {"GPU instance does not tell", {{"nvmlGpuInstanceGetInfo", kUnknown}}},
  };
  for (const auto& c : cases) {
    test::SimMachine sim(test::a100_machine(1, kLayout));
    for (const auto& [function, error] : c.faults) sim.fail(function, error);
    Reader reader(Connection::make(sim.options()));
    const auto machine = reader.read();
    ASSERT_TRUE(machine.has_value()) << c.name;
    EXPECT_THAT(names(*machine),
                ::testing::UnorderedElementsAre("1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb"))
        << c.name;
  }
}

TEST(NvmlMig, InstancesThatTheDriverDoesNotTell) {
  test::SimMachine sim(test::a100_machine(1, kLayout));
  Reader reader(Connection::make(sim.options()));
  EXPECT_EQ(reader.read()->gpus[0].mig_refused, "");
  sim.fail("nvmlDeviceGetMigDeviceHandleByIndex", kNoPermission);
  Reader unprivileged(Connection::make(sim.options()));
  const auto machine = unprivileged.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_THAT(machine->gpus[0].mig_instances, ::testing::IsEmpty());
  EXPECT_THAT(machine->gpus[0].mig_refused,
              ::testing::HasSubstr("nvmlDeviceGetMigDeviceHandleByIndex: 4"));
}

TEST(NvmlMig, WhatCouldNotBeReadIsNoLayout) {
  for (const char* function :
       {"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetAttributes_v2"}) {
    SCOPED_TRACE(function);
    test::SimMachine sim(test::a100_machine(1, kLayout));
    sim.fail(function, kUnknown);
    Reader reader(Connection::make(sim.options()));
    for (int i = 0; i < 2; ++i) EXPECT_THAT(reader.read()->gpus[0].mig_unread, HasSubstr(function));
    sim.heal();
    const auto known = reader.read()->gpus[0];
    EXPECT_EQ(known.mig_unread, "");
    EXPECT_THAT(known.mig_instances, SizeIs(4));
    sim.fail(function, kUnknown);
    EXPECT_EQ(reader.read()->gpus[0], known) << "what was read stays";
  }
}

TEST(NvmlMig, DeviceNodesFromMigMinors) {
  test::SimMachine sim(test::a100_machine(1, "    mig: {enabled: true, instances: [1g.5gb]}\n"));
  Reader reader(Connection::make(sim.options()));
  auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  ASSERT_THAT(machine->gpus[0].mig_instances, SizeIs(1));
  const auto id = machine->gpus[0].mig_instances[0].gpu_instance_id;
  EXPECT_EQ(machine->gpus[0].mig_instances[0].gpu_instance_cap, std::nullopt);
  EXPECT_THAT(machine->warnings, ElementsAre(HasSubstr("mig-minors")));
  sim.put("/proc/driver/nvidia-caps/mig-minors",
          fmt::format("gpu0/gi{}/access 66\ngpu0/gi{}/ci0/access 67\n", id, id));
  machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->gpus[0].mig_instances[0].gpu_instance_cap, 66);
  EXPECT_EQ(machine->gpus[0].mig_instances[0].compute_instance_cap, 67);
  EXPECT_THAT(machine->warnings, IsEmpty());
}

TEST(NvmlMig, AChangedLayoutIsSeen) {
  test::SimMachine sim(test::a100_machine(1, "    mig: {enabled: true, instances: [2g.10gb]}\n"));
  Reader reader(Connection::make(sim.options()));
  EXPECT_THAT(names(*reader.read()), ElementsAre("2g.10gb"));
  auto& state = sim.sim().state();
  {
    const sim::Simulation::Guard guard(state);
    const auto* profile = sim::profile_by_name(state.models[0], "3g.20gb");
    ASSERT_NE(profile, nullptr);
    const auto instance = sim::create_gpu_instance(state, state.gpus[0], *profile, std::nullopt);
    ASSERT_TRUE(instance.has_value()) << instance.error().message();
    ASSERT_TRUE(
        sim::create_compute_instance(state, state.gpus[0], *instance, 3, std::nullopt).has_value());
  }
  EXPECT_THAT(names(*reader.read()), ::testing::UnorderedElementsAre("2g.10gb", "3g.20gb"));
}

TEST(NvmlMig, WhatACallFailsToTellStaysAsItWas) {
  for (const char* function : {"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount",
                               "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId",
                               "nvmlDeviceGetComputeInstanceId", "nvmlDeviceGetAttributes_v2"}) {
    test::SimMachine sim(test::a100_machine(1, kLayout));
    sim.put("/proc/driver/nvidia-caps/mig-minors", "config 1\n");
    Reader reader(Connection::make(sim.options()));
    const auto before = reader.read();
    ASSERT_TRUE(before.has_value());
    sim.fail(function, kUnknown);
    const auto after = reader.read();
    ASSERT_TRUE(after.has_value()) << function;
    EXPECT_EQ(after->gpus, before->gpus) << function;
    EXPECT_THAT(after->warnings, ::testing::Each(HasSubstr(function))) << function;
    EXPECT_THAT(after->warnings, ::testing::Not(IsEmpty())) << function;
  }
}

std::vector<std::string> profile_names(const gpu::Gpu& gpu) {
  std::vector<std::string> names;
  for (const auto& profile : gpu.mig_geometry.profiles) names.push_back(profile.name);
  return names;
}

TEST(NvmlMig, WhatAGpuCanBeCutInto) {
  test::SimMachine sim(test::a100_machine(1));
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  const auto& geometry = machine->gpus[0].mig_geometry;
  EXPECT_EQ(geometry.compute_slices, 7);
  EXPECT_EQ(geometry.memory_slices, 8);
  EXPECT_THAT(
      profile_names(machine->gpus[0]),
      ElementsAre("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "1g.5gb+me", "1g.10gb"));
  const auto* media = geometry.find(20);
  ASSERT_NE(media, nullptr);
  EXPECT_EQ(*media, (gpu::GpuInstanceProfile{
                        .name = "1g.5gb+me",
                        .id = 20,
                        .kind = gpu::MigKind::kMedia,
                        .compute_slices = 1,
                        .memory_slices = 1,
                        .max_instances = 1,
                        .starts = {0, 1, 2, 3, 4, 5, 6},
                        .attributes = gpu::MigAttributes{.memory = Bytes::from_mib(4864),
                                                         .multiprocessors = 14,
                                                         .copy_engines = 1,
                                                         .decoders = 1,
                                                         .encoders = 0,
                                                         .jpeg_engines = 1,
                                                         .ofa_engines = 1}}));
}

TEST(NvmlMig, PlacesThatADriverDoesNotTellAreTheModels) {
  test::SimMachine sim(test::a100_machine(1));
  sim.fail("nvmlDeviceGetGpuInstancePossiblePlacements_v2", kNotSupported);
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  const auto* half = machine->gpus[0].mig_geometry.find(9);
  ASSERT_NE(half, nullptr);
  EXPECT_THAT(half->starts, ElementsAre(0, 4));
  EXPECT_EQ(half->memory_slices, 4);
  EXPECT_EQ(machine->gpus[0].mig_geometry.memory_slices, 8);
}

TEST(NvmlMig, ProfilesThatCouldNotBeReadAreAskedForAgain) {
  const std::vector<std::string> profiles = {"nvmlDeviceGetGpuInstanceProfileInfoV",
                                             "nvmlDeviceGetGpuInstanceProfileInfo"};
  const std::vector<std::string> places = {"nvmlDeviceGetGpuInstancePossiblePlacements_v2"};
  for (const auto& failing : {profiles, places}) {
    SCOPED_TRACE(failing.back());
    test::SimMachine sim(test::a100_machine(1, kLayout));
    sim.put("/proc/driver/nvidia-caps/mig-minors", "config 1\n");
    for (const auto& function : failing) sim.fail(function, kUnknown);
    Reader reader(Connection::make(sim.options()));
    auto machine = reader.read();
    ASSERT_TRUE(machine.has_value());
    EXPECT_THAT(machine->warnings,
                ::testing::Contains(::testing::AllOf(HasSubstr("its MIG profiles are unknown: "),
                                                     HasSubstr(failing.back()))));
    EXPECT_TRUE(machine->gpus[0].mig_geometry.empty());
    sim.heal();
    machine = reader.read();
    ASSERT_TRUE(machine.has_value());
    EXPECT_THAT(machine->gpus[0].mig_geometry.profiles, SizeIs(7));
    EXPECT_THAT(machine->warnings, IsEmpty());
  }
}

TEST(NvmlMig, PlacesThatNobodyToldAreAskedForAgain) {
  auto yaml = test::a100_machine(1);
  const std::string model = "NVIDIA A100-SXM4-40GB";
  yaml.replace(yaml.find(model), model.size(), "NVIDIA that no table has");
  test::SimMachine sim(yaml);
  sim.fail("nvmlDeviceGetGpuInstancePossiblePlacements_v2", kNotSupported);
  Reader reader(Connection::make(sim.options()));
  const auto half = [&] { return reader.read()->gpus[0].mig_geometry.find(9)->starts; };
  EXPECT_THAT(half(), IsEmpty());
  sim.heal();
  EXPECT_THAT(half(), ElementsAre(0, 4));
}

TEST(NvmlMig, PlacesThatNoGpuHasAreNotBelieved) {
  test::SimMachine sim(test::a100_machine(1));
  for (auto& profile : sim.sim().state().models[0].profiles) profile.size = 0;
  const auto machine = Reader(Connection::make(sim.options())).read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_TRUE(machine->gpus[0].mig_geometry.empty());
  EXPECT_THAT(machine->warnings,
              ElementsAre(HasSubstr("PossiblePlacements_v2: 0 memory slices from 0")));
}

}  // namespace
}  // namespace tranche::nvml::nvml_mig_test
