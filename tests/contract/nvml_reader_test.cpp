// The reader over the simulated machine: what it reads, beyond the contract.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sim_machine.h"
#include "nvml/reader.h"
#include "sim/gpu/topology.h"

namespace tranche::nvml::nvml_reader_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(NvmlReader, AnL20) {
  test::SimMachine sim("l20");
  sim.put("/sys/bus/pci/devices/0000:00:08.0/numa_node", "0\n");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value()) << machine.error().message();
  ASSERT_THAT(machine->gpus, SizeIs(1));
  const auto& gpu = machine->gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA L20");
  EXPECT_EQ(gpu.uuid.value, sim.uuid(0));
  EXPECT_EQ(gpu.pci, (gpu::PciAddress{.device = 8}));
  EXPECT_EQ(gpu.pci_ids, (gpu::PciIds{.device = 0x26BA10DE, .subsystem = 0x195710DE}));
  EXPECT_EQ(gpu.compute_capability, (gpu::ComputeCapability{8, 9}));
  EXPECT_EQ(gpu.memory, Bytes::from_mib(46068));
  EXPECT_EQ(gpu.mig_mode, gpu::MigMode::kUnsupported);
  EXPECT_EQ(gpu.numa_node, 0);
  EXPECT_EQ(gpu.fabric, std::nullopt);
  EXPECT_THAT(machine->warnings, IsEmpty());
  EXPECT_EQ(machine->host, gpu::Host{}) << "wiring's part";
}

TEST(NvmlReader, NumaOnlyWhereTheMachineSays) {
  test::SimMachine sim(test::a100_machine(3));
  sim.put("/sys/bus/pci/devices/0000:10:00.0/numa_node", "1\n");
  sim.put("/sys/bus/pci/devices/0000:11:00.0/numa_node", "-1\n");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_THAT(machine->gpus,
              ElementsAre(Field(&gpu::Gpu::numa_node, 1), Field(&gpu::Gpu::numa_node, std::nullopt),
                          Field(&gpu::Gpu::numa_node, std::nullopt)));
}

TEST(NvmlReader, AFabricMember) {
  test::SimMachine sim(
      "machine: fabric\n"
      "models: {m: {name: NVIDIA H100 80GB HBM3, architecture: hopper, compute_capability: '9.0', "
      "memory: 81559Mi, sm: 132, pci_device: 0x2330}}\n"
      "gpus: [{model: m, pci: '0000:06:00.0'}]\n"
      "fabric: {cluster: 01234567-89ab-cdef-0123-456789abcdef, clique: 32766}\n");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  ASSERT_TRUE(machine->gpus[0].fabric.has_value());
  EXPECT_EQ(machine->gpus[0].fabric->cluster_uuid, "01234567-89ab-cdef-0123-456789abcdef");
  EXPECT_EQ(machine->gpus[0].fabric->clique_id, 32766U);
}

TEST(NvmlReader, WhatTheDriverAsksFor) {
  test::SimMachine sim(test::a100_machine(1));
  Reader reader(Connection::make(sim.options()));
  EXPECT_EQ(reader.read()->gpus[0].recovery_action, 0);
  sim.sim().state().gpus[0].recovery_action.store(1);
  EXPECT_EQ(reader.read()->gpus[0].recovery_action, 1);
}

TEST(NvmlReader, LevelsAndNvLinks) {
  // 0 and 1 under one switch, 2 elsewhere; 0-1 with four direct links, 1-2 with two.
  test::SimMachine sim(
      "machine: links\n"
      "models: {m: {name: Tesla V100-SXM2-16GB, architecture: volta, compute_capability: '7.0', "
      "memory: 16384Mi, sm: 80, pci_device: 0x1DB1}}\n"
      "topology: {numa_nodes: 2}\n"
      "gpus:\n"
      "  - {model: m, pci: '0000:06:00.0', numa: 0, switch: 0, switch_group: 0, host_bridge: 0}\n"
      "  - {model: m, pci: '0000:07:00.0', numa: 0, switch: 0, switch_group: 0, host_bridge: 0}\n"
      "  - {model: m, pci: '0000:85:00.0', numa: 1, switch: 1, switch_group: 1, host_bridge: 1}\n"
      "nvlink: {pairs: [{a: 0, b: 1, links: 4}, {a: 1, b: 2, links: 2}]}\n");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  using enum gpu::P2pLevel;
  EXPECT_EQ(topology->at(0, 1), (gpu::Link{kSingleSwitch, 4}));
  EXPECT_EQ(topology->at(1, 2), (gpu::Link{kSystem, 2}));
  EXPECT_EQ(topology->at(0, 2), (gpu::Link{kSystem, 0}));
}

TEST(NvmlReader, NvSwitchLinksAreThoseOfAGpuAndNotOfAPair) {
  test::SimMachine sim("a100-80gb-x8");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  ASSERT_THAT(machine->gpus, SizeIs(8));
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  for (std::size_t a = 0; a < 8; ++a) {
    EXPECT_EQ(topology->switch_links(a), 12);
    for (std::size_t b = a + 1; b < 8; ++b) {
      EXPECT_EQ(topology->at(a, b).nvlinks, 0);
      EXPECT_NE(topology->at(a, b).level, gpu::P2pLevel::kUnknown);
    }
  }
}

TEST(NvmlReader, LinksThatAreDownAreNotCounted) {
  for (const char* name : {"a100-80gb-x8", "a100-40gb-x4"}) {
    test::SimMachine sim(name);
    sim::set_links_up(sim.sim().state().gpus[1], false);
    Reader reader(Connection::make(sim.options()));
    const auto machine = reader.read();
    ASSERT_TRUE(machine.has_value());
    const auto topology = reader.read_topology(*machine);
    ASSERT_TRUE(topology.has_value());
    EXPECT_EQ(topology->switch_links(1), 0) << name;
    EXPECT_TRUE(topology->switch_links(0) == 12 || topology->at(0, 2).nvlinks == 4) << name;
  }
}

TEST(NvmlReader, ALibraryThatCannotTellWhereALinkLeadsHasNoneToASwitch) {
  test::SimMachine sim("a100-80gb-x8");
  sim.fail("nvmlDeviceGetNvLinkRemoteDeviceType", kFunctionNotFound);
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->switch_links(0), 0);
}

TEST(NvmlReader, BrandAndAddressingMode) {
  test::SimMachine sim("h100-r615");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->gpus[0].brand, "Nvidia");
  EXPECT_EQ(machine->gpus[0].addressing_mode, "HMM");
}

TEST(NvmlReader, ADriverThatDoesNotKnowTheAddressingModeIsNoNews) {
  test::SimMachine sim("t4");
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->gpus[0].brand, "Tesla");
  EXPECT_EQ(machine->gpus[0].addressing_mode, "");
  EXPECT_THAT(machine->warnings, IsEmpty());
}

TEST(NvmlReader, AKindThatTheDriverDoesNotTellIsLeftOut) {
  test::SimMachine sim("h100-r615");
  sim.fail("nvmlDeviceGetBrand", kUnknown);
  sim.fail("nvmlDeviceGetAddressingMode", kNotSupported);
  Reader reader(Connection::make(sim.options()));
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->gpus[0].brand, "");
  EXPECT_EQ(machine->gpus[0].addressing_mode, "");
  EXPECT_THAT(machine->warnings, ElementsAre(testing::HasSubstr("its brand is unknown")));
}

TEST(NvmlReader, TopologyOfALostGpuIsUnknown) {
  test::SimMachine sim(test::a100_machine(3));
  Reader reader(Connection::make(sim.options()));
  ASSERT_TRUE(reader.read().has_value());
  sim.set_presence(1, sim::Presence::kLost);
  const auto machine = reader.read();
  ASSERT_TRUE(machine.has_value());
  const auto topology = reader.read_topology(*machine);
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->at(0, 1).level, gpu::P2pLevel::kUnknown);
  EXPECT_EQ(topology->at(1, 2).level, gpu::P2pLevel::kUnknown);
  EXPECT_NE(topology->at(0, 2).level, gpu::P2pLevel::kUnknown);
}

TEST(NvmlReader, TopologyBeforeAnyReadingIsAnError) {
  test::SimMachine sim("l20");
  Reader reader(Connection::make(sim.options()));
  const auto topology = reader.read_topology({});
  ASSERT_FALSE(topology.has_value());
  EXPECT_EQ(topology.error().code, Code::kUnavailable);
}

TEST(NvmlReader, FixedFactsAreAskedOnce) {
  test::SimMachine sim("l20");
  Reader reader(Connection::make(sim.options()));
  const auto before = reader.read();
  ASSERT_TRUE(before.has_value());
  for (const char* function :
       {"nvmlDeviceGetName", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo_v3",
        "nvmlDeviceGetCudaComputeCapability", "nvmlSystemGetDriverVersion", "nvmlDeviceGetBrand",
        "nvmlDeviceGetAddressingMode"}) {
    sim.fail(function, kUnknown);
  }
  EXPECT_EQ(reader.read(), before);
}

}  // namespace
}  // namespace tranche::nvml::nvml_reader_test
