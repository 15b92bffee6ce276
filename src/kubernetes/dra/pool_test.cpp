#include "dra/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/dra_driver.h"
#include "dra/names.h"
#include "gpu/mig_tables.h"
#include "support/machines.h"

namespace tranche::dra::pool_test {
namespace {

using cluster::SemanticVersion;
using cluster::SliceDevice;
using ::testing::ContainerEq;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

gpu::Machine with_geometry(gpu::Machine machine, std::string_view model) {
  for (auto& gpu : machine.gpus) gpu.mig_geometry = gpu::find_mig_model(model)->geometry;
  return machine;
}

PoolFacts partitionable(const gpu::Machine& machine) {
  PoolFacts facts{.shares = true};
  for (const auto& gpu : machine.gpus) facts.partitionable.insert(gpu.uuid);
  return facts;
}

std::vector<std::string> names_of(const std::vector<SliceDevice>& devices) {
  std::vector<std::string> names;
  for (const auto& device : devices) names.push_back(device.name);
  return names;
}

std::string text(const SliceDevice& device, const std::string& name) {
  const auto found = device.attributes.find(name);
  if (found == device.attributes.end()) return "";
  const auto* value = std::get_if<std::string>(&found->second);
  return value == nullptr ? "" : *value;
}

TEST(Pool, AGpuHasNvidiasAttributesAndSharesOfMemoryAndCompute) {
  auto machine = test::machine_of({test::l20(0)});
  machine.gpus[0].brand = "Nvidia";
  machine.gpus[0].addressing_mode = "HMM";
  const auto pool = make_pool(machine, {.shares = true,
                                        .pcie_roots = {{machine.gpus[0].pci, "pci0000:10"}},
                                        .islands = {{machine.gpus[0].uuid, "island-0"}}});
  EXPECT_THAT(pool.counters, IsEmpty());
  EXPECT_THAT(pool.instances, IsEmpty());
  constexpr std::uint64_t kMemory = 46068ULL << 20U;
  constexpr std::uint64_t kMiB = 1U << 20U;
  ASSERT_THAT(pool.gpus, SizeIs(1));
  EXPECT_EQ(
      pool.gpus[0],
      (SliceDevice{.name = "gpu-0",
                   .attributes = {{"type", std::string("gpu")},
                                  {"uuid", test::gpu_uuid(0)},
                                  {"productName", std::string("NVIDIA L20")},
                                  {"brand", std::string("Nvidia")},
                                  {"addressingMode", std::string("HMM")},
                                  {"architecture", std::string("Ada Lovelace")},
                                  {"cudaComputeCapability", SemanticVersion{"8.9.0"}},
                                  {"driverVersion", SemanticVersion{"570.158.1"}},
                                  {"cudaDriverVersion", SemanticVersion{"12.8.0"}},
                                  {"numaNode", std::int64_t{0}},
                                  {"resource.kubernetes.io/pciBusID", std::string("0000:10:00.0")},
                                  {"resource.kubernetes.io/pcieRoot", std::string("pci0000:10")},
                                  {"tranche.dev/nvlinkIsland", std::string("island-0")}},
                   .capacity = {{"memory", {kMemory, {{kMemory, kMiB, kMemory, kMiB}}}},
                                {"compute", {100, {{100, 1, 100, 1}}}}},
                   .shareable = true}));
}

// The scheduler (1.36) refuses a full shareable device, and one whose counters are spent, to
// adminAccess as well.
TEST(Pool, EachGpuIsThereOnceMoreForAdmins) {
  const auto machine = with_geometry(test::machine_of({test::h100(0), test::l20(1)}), "h100-80gb");
  const auto pool = make_pool(machine, partitionable(machine));
  EXPECT_THAT(names_of(pool.admins), ElementsAre("gpu-0-admin", "gpu-1-admin"));
  const auto& device = pool.admins.at(0);
  EXPECT_FALSE(device.shareable);
  EXPECT_THAT(device.consumes, IsEmpty());
  EXPECT_FALSE(device.capacity.at("memory").policy);
  EXPECT_EQ(text(device, "type"), "gpu-admin");
  EXPECT_EQ(text(device, "uuid"), test::gpu_uuid(0));
  EXPECT_THAT(device.taints, ElementsAre(cluster::DeviceTaint{.key = "tranche.dev/admin-access",
                                                              .effect = "NoSchedule"}));
}

// A claim gets either the whole GPU or nothing of it.
TEST(Pool, WithoutLimitsNothingIsShared) {
  const auto pool = make_pool(test::machine_of({test::l20(0)}), {});
  EXPECT_FALSE(pool.gpus[0].shareable);
  EXPECT_FALSE(pool.gpus[0].capacity.at("memory").policy);
  EXPECT_EQ(pool.gpus[0].capacity.at("memory").value, 46068ULL << 20U);
}

// What the driver keeps for itself is not allocated in shares: programs cannot use it.
TEST(Pool, OnlyUsableMemoryIsDivided) {
  auto machine = test::machine_of({test::l20(0).reserved_mib(624)});
  machine.gpus[0].reserved.value += 1000;  // a driver's is not a whole number of MiB
  constexpr std::uint64_t kMiB = 1U << 20U;
  constexpr std::uint64_t kUsable = (46068 - 624 - 1) * kMiB;
  const auto shared = make_pool(machine, {.shares = true}).gpus[0];
  EXPECT_EQ(shared.capacity.at("memory"),
            (cluster::DeviceCapacity{kUsable, {{kUsable, kMiB, kUsable, kMiB}}}));
  // The value that identifies the model; published if the capacity is less.
  EXPECT_EQ(shared.attributes.at("tranche.dev/totalMemory"),
            cluster::DeviceAttribute(std::int64_t{46068}));
  const auto whole = make_pool(machine, {}).gpus[0];
  EXPECT_EQ(whole.capacity.at("memory").value, 46068 * kMiB) << "as NVIDIA's driver says it";
  EXPECT_FALSE(whole.attributes.contains("tranche.dev/totalMemory"));
}

// NVIDIA's driver publishes them, so requests name them. A share that names none takes none.
TEST(Pool, AGpuOfAKnownGeometryHasItsMultiprocessors) {
  const auto machine = with_geometry(test::machine_of({test::h100(0)}), "h100-80gb");
  EXPECT_EQ(make_pool(machine, {}).gpus[0].capacity.at("multiprocessors"),
            (cluster::DeviceCapacity{132, {}}));
  EXPECT_EQ(make_pool(machine, {.shares = true}).gpus[0].capacity.at("multiprocessors"),
            (cluster::DeviceCapacity{132, {{.otherwise = 0, .min = 0, .max = 132, .step = 1}}}));
}

TEST(Pool, AGpuWithAnUnreadMigLayoutIsOmitted) {
  auto machine = with_geometry(test::machine_of({test::h100(0), test::h100(1)}), "h100-80gb");
  machine.gpus[0].mig_unread = "Unknown Error";
  EXPECT_THAT(names_of(make_pool(machine, {}).gpus), ElementsAre("gpu-1"));
  const auto cut = make_pool(machine, partitionable(machine));
  EXPECT_THAT(cut.counters, SizeIs(1));
  EXPECT_THAT(cut.instances, SizeIs(1));
}

TEST(Pool, UnknownAttributesAreOmitted) {
  auto machine = test::machine_of({test::l20(0)});
  auto& gpu = machine.gpus[0];
  gpu.memory = {};
  gpu.compute_capability = {};
  gpu.numa_node.reset();
  gpu.name = std::string(65, 'x');
  machine.driver_version = "unknown";
  machine.cuda_driver_version = 0;
  const auto pool = make_pool(machine, {.shares = true});
  const auto& device = pool.gpus[0];
  EXPECT_FALSE(device.shareable);
  for (const char* name : {"productName", "driverVersion", "cudaComputeCapability", "numaNode",
                           "architecture", "brand", "addressingMode"}) {
    EXPECT_FALSE(device.attributes.contains(name)) << name;
  }
}

struct ModeCase {
  const char* name;
  test::GpuBuilder gpu;
  const char* model;
  bool partitionable;
  bool whole;
  bool places;
  std::size_t instances;
};

TEST(Pool, WhatAGpuIsPublishedAs) {
  const ModeCase cases[] = {
      {"Hopper, MIG off", test::h100(0), "h100-80gb", false, true, false, 0},
      {"Hopper, MIG off, may be cut", test::h100(0), "h100-80gb", true, true, true, 25},
      {"Hopper, MIG on, may be cut", test::h100(0).mig(), "h100-80gb", true, true, true, 25},
      {"Ampere, MIG off, may be cut", test::a100_40gb(0), "a100-40gb", true, true, false, 0},
      {"Ampere, MIG on, may be cut", test::a100_40gb(0).mig(), "a100-40gb", true, false, true, 25},
      {"instances that are there", test::a100_40gb(0).mig({"1g.5gb", "1g.5gb+me"}), "a100-40gb",
       false, false, false, 2},
      {"MIG on and empty", test::a100_40gb(0).mig(), "a100-40gb", false, false, false, 0},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    const auto machine = with_geometry(test::machine_of({one.gpu}), one.model);
    const auto pool = make_pool(machine, one.partitionable ? partitionable(machine) : PoolFacts{});
    EXPECT_EQ(pool.gpus.size(), one.whole ? 1U : 0U);
    EXPECT_EQ(pool.counters.size(), one.places ? 1U : 0U);
    const std::size_t places = pool.instances.empty() ? 0 : pool.instances[0].size();
    EXPECT_EQ(places, one.instances);
    for (const auto& device : pool.gpus) EXPECT_EQ(device.consumes.size(), one.places ? 1U : 0U);
  }
}

TEST(Pool, AnExistingInstanceHasItsUuidAndNoCounters) {
  const auto pool = make_pool(test::machine_of({test::a100_40gb(0).mig({"1c.2g.10gb"})}), {});
  const auto& device = pool.instances.at(0).at(0);
  EXPECT_EQ(device.name, "gpu-0-mig-1c2g10gb-gi1-ci0");
  EXPECT_EQ(text(device, "type"), "mig");
  EXPECT_EQ(text(device, "uuid"), test::mig_uuid(0, 0));
  EXPECT_EQ(text(device, "parentUUID"), test::gpu_uuid(0));
  EXPECT_EQ(text(device, "profile"), "1c.2g.10gb");
  EXPECT_EQ(device.capacity.at("memory").value, 10ULL << 30U);
  EXPECT_THAT(device.consumes, IsEmpty());
}

TEST(Pool, AnExistingInstanceHasItsMemorySlices) {
  const auto slices_at = [](std::optional<gpu::Placement> placement) {
    auto machine = test::machine_of({test::a100_40gb(0).mig({"2g.10gb"})});
    machine.gpus[0].mig_instances[0].placement = placement;
    const auto pool = make_pool(machine, {});
    std::vector<std::string> slices;
    for (const auto& [name, capacity] : pool.instances.at(0).at(0).capacity) {
      if (name.starts_with("memorySlice")) slices.push_back(name);
    }
    return slices;
  };
  EXPECT_THAT(slices_at(gpu::Placement{.start = 2, .size = 2}),
              ElementsAre("memorySlice2", "memorySlice3"));
  EXPECT_THAT(slices_at(std::nullopt), IsEmpty()) << "the driver does not report it";
  EXPECT_THAT(slices_at(gpu::Placement{.start = 0, .size = 40}), IsEmpty())
      << "too many for a device";
  EXPECT_THAT(slices_at(gpu::Placement{.start = -1, .size = -1}), IsEmpty());
}

// First fit takes them in this order: a claim that names no profile gets the smallest.
TEST(Pool, PlacesGoFromSmallToLargeAndFromTheEnd) {
  const auto machine = with_geometry(test::machine_of({test::h100(0)}), "h100-80gb");
  const auto names = names_of(make_pool(machine, partitionable(machine)).instances.at(0));
  const std::vector<std::string> smallest = {"gpu-0-mig-1g10gb-19-6", "gpu-0-mig-1g10gb-19-5"};
  EXPECT_THAT(std::vector(names.begin(), names.begin() + 2), ContainerEq(smallest));
  EXPECT_EQ(names.at(7), "gpu-0-mig-1g10gb-me-20-6") << "what has more than its size comes later";
  const std::vector<std::string> largest = {"gpu-0-mig-3g40gb-9-4", "gpu-0-mig-3g40gb-9-0",
                                            "gpu-0-mig-4g40gb-5-0", "gpu-0-mig-7g80gb-0-0"};
  EXPECT_THAT(std::vector(names.end() - 4, names.end()), ContainerEq(largest));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  for (const auto& name : names) EXPECT_EQ(name.find_first_of("+."), std::string::npos) << name;
}

TEST(Pool, ExistingInstancesGoFromSmallToLargeOverAllGpus) {
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"3g.20gb", "1g.5gb+me", "1g.5gb"}),
                        test::a100_40gb(1).mig({"2g.10gb", "1g.5gb", "1c.2g.10gb"})});
  const auto pool = make_pool(machine, {});
  ASSERT_THAT(pool.instances, SizeIs(1));
  EXPECT_THAT(names_of(pool.instances[0]),
              ElementsAre("gpu-0-mig-1g5gb-gi3-ci0", "gpu-1-mig-1g5gb-gi2-ci0",
                          "gpu-0-mig-1g5gb-me-gi2-ci0", "gpu-1-mig-1c2g10gb-gi3-ci0",
                          "gpu-1-mig-2g10gb-gi1-ci0", "gpu-0-mig-3g20gb-gi1-ci0"));
}

// An instance that exists is taken before a place of its size; a large one is not, for a small one.
TEST(Pool, WhatExistsComesBeforePlacesUnlessItIsLarger) {
  struct Row {
    const char* name;
    const char* exists;
    const char* first;
  };
  const Row rows[] = {{"as small", "1g.5gb", "gpu-1-mig-1g5gb-gi1-ci0"},
                      {"larger", "3g.20gb", "gpu-0-mig-1g5gb-19-6"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto machine = with_geometry(
        test::machine_of({test::a100_40gb(0).mig(), test::a100_40gb(1).mig({row.exists})}),
        "a100-40gb");
    const auto pool = make_pool(machine, {.shares = true, .partitionable = {machine.gpus[0].uuid}});
    EXPECT_EQ(pool.instances.at(0).at(0).name, row.first);
  }
}

TEST(Pool, TaintsAreThoseOfTheGpuAndOfTheInstance) {
  const auto machine =
      test::machine_of({test::a100_40gb(0).mig({"1g.5gb", "1g.5gb"}), test::l20(1)});
  const cluster::DeviceTaint xid{.key = "gpu.nvidia.com/xid", .effect = "NoSchedule"};
  const cluster::DeviceTaint ecc{.key = "gpu.nvidia.com/ecc", .effect = "NoExecute"};
  const auto pool =
      make_pool(machine, {.taints = {{test::gpu_uuid(0), {xid}}, {test::mig_uuid(0, 1), {ecc}}}});
  EXPECT_THAT(pool.instances[0][0].taints, ElementsAre(xid));
  EXPECT_THAT(pool.instances[0][1].taints, ElementsAre(xid, ecc));
  EXPECT_THAT(pool.gpus[0].taints, IsEmpty());
}

// --- slices -------------------------------------------------------------------------------------

const PoolNames kNames{.driver = "gpu.nvidia.com", .node = "n1"};

TEST(Slices, EightPartitionableGpus) {
  const auto machine = with_geometry(test::machine_of(8, test::h100), "h100-80gb");
  const auto slices = make_slices(make_pool(machine, partitionable(machine)), kNames, 7);
  ASSERT_THAT(slices, SizeIs(6));  // counters, GPUs, two GPUs' places each
  EXPECT_THAT(slices[0].counters, SizeIs(8));
  EXPECT_THAT(slices[0].devices, IsEmpty());
  EXPECT_THAT(slices[1].devices, SizeIs(16));  // each for claims and for admins
  EXPECT_THAT(slices[2].devices, SizeIs(50));
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(slices[i].name, "n1-gpu.nvidia.com-0" + std::to_string(i));
    EXPECT_EQ(slices[i].pool, (cluster::ResourcePool{"gpu-n1", 7, 6}));
    EXPECT_EQ(slices[i].driver, "gpu.nvidia.com");
    EXPECT_EQ(slices[i].node, "n1");
  }
}

TEST(Slices, StayWithinTheLimitsOfTheApiServer) {
  const auto machine = with_geometry(test::machine_of(17, test::h100), "h100-80gb");
  auto pool = make_pool(machine, partitionable(machine));
  const auto place = pool.instances[0][0];
  pool.instances.emplace_back(200, place);  // a driver that reports too many
  std::size_t devices = 0;
  for (const auto& slice : make_slices(pool, kNames, 1)) {
    EXPECT_LE(slice.counters.size(), cluster::kCounterSetsPerSlice);
    EXPECT_LE(slice.devices.size(), cluster::kDetailedDevicesPerSlice);
    EXPECT_NE(slice.counters.empty(), slice.devices.empty());
    devices += slice.devices.size();
  }
  EXPECT_EQ(devices, (2 * 17U) + (17 * 25) + 200);
}

// Kubernetes needs at least one slice in a pool.
TEST(Slices, AnEmptyPoolHasOne) {
  const auto slices = make_slices({}, kNames, 1);
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_THAT(slices[0].devices, IsEmpty());
  EXPECT_EQ(slices[0].pool.slices, 1);
}

// --- names --------------------------------------------------------------------------------------

TEST(Names, VersionsHaveThreeNumbersWithoutLeadingZeros) {
  struct Row {
    const char* text;
    const char* version;
  };
  const Row rows[] = {{"570.158.01", "570.158.1"},
                      {"12.8", "12.8.0"},
                      {"9", "9.0.0"},
                      {"1.2.3.4", ""},
                      {"", ""},
                      {"570.x", ""},
                      {"570.", ""},
                      {"1..2", ""},
                      {"99999999999", ""},
                      {"550.54.15-rc1", ""}};
  for (const auto& row : rows) EXPECT_EQ(semantic_version(row.text), row.version) << row.text;
}

TEST(Names, ASliceOfANodeWithALongNameIsUnique) {
  const std::string node(250, 'n');
  const auto one = slice_name(node + "aaa", kDefaultDraDriver, 0);
  const auto other = slice_name(node + "bbb", kDefaultDraDriver, 0);
  EXPECT_LE(one.size(), 253U);
  EXPECT_NE(one, other);
  EXPECT_THAT(one, EndsWith("-gpu.nvidia.com-00"));
  // If cut after a dot, a label would begin with a hyphen.
  const auto dotted = slice_name(std::string(217, 'n') + "....................................",
                                 kDefaultDraDriver, 0);
  EXPECT_EQ(dotted.find(".-"), std::string::npos);
}

TEST(Names, AGpuWithoutAMinorNumberHasItsIndex) {
  EXPECT_EQ(gpu_device_name(test::l20(3).minor(-1).build()), "gpu-3");
  EXPECT_EQ(gpu_device_name(test::l20(3).minor(7).build()), "gpu-7");
}

}  // namespace
}  // namespace tranche::dra::pool_test
