// MIG through NVML: modes, instances, handles that outlive what they name.

#include "sim/gpu/mig.h"

#include <gmock/gmock.h>

#include "sim/gpu/memory.h"
#include "sim/gpu/uses.h"
#include "support.h"

namespace tranche::sim::test::mig_test {
namespace {

using namespace abi;

constexpr unsigned int k1g5gb = 19;
constexpr unsigned int k7g40gb = 0;

nvmlReturn_t set_mode(const Nvml& nvml, unsigned int mode, nvmlReturn_t& status) {
  return nvml("nvmlDeviceSetMigMode", nvml.gpu(), mode, &status);
}

TEST(Mig, ManualsLayout) {
  const World world("a100-40gb-mig");
  const Nvml nvml;
  std::vector<std::string> names;
  for (unsigned int i = 0; i < 4; ++i) {
    const std::string name = nvml.text("nvmlDeviceGetName", nvml.mig(i));
    names.push_back(name.substr(name.rfind(' ') + 1));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"));
  nvmlDeviceAttributes_t attributes = {};
  EXPECT_EQ(nvml("nvmlDeviceGetAttributes_v2", nvml.mig(1), &attributes), NVML_SUCCESS);
  EXPECT_EQ(attributes.multiprocessorCount, 28U);
  EXPECT_EQ(attributes.memorySizeMB, 9984U);
  EXPECT_EQ(attributes.gpuInstanceSliceCount, 2U);
  unsigned int most = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetMaxMigDeviceCount", nvml.gpu(), &most), NVML_SUCCESS);
  EXPECT_EQ(most, 7U);
}

TEST(Mig, UuidFindsTheDevice) {
  const World world("a100-40gb-mig");
  const Nvml nvml;
  const std::string uuid = nvml.text("nvmlDeviceGetUUID", nvml.mig(2));
  EXPECT_THAT(uuid, ::testing::StartsWith("MIG-"));
  nvmlDevice_t found = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found), NVML_SUCCESS);
  EXPECT_EQ(found, nvml.mig(2));
  nvmlDevice_t parent = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", found, &parent), NVML_SUCCESS);
  EXPECT_EQ(parent, nvml.gpu());
}

TEST(Mig, SevenSmallOnesAndNoMore) {
  const World world("a100-40gb");
  const Nvml nvml;
  nvmlReturn_t status = NVML_ERROR_UNKNOWN;
  ASSERT_EQ(set_mode(nvml, 1, status), NVML_SUCCESS);
  ASSERT_EQ(status, NVML_SUCCESS);
  nvmlGpuInstance_t instance = nullptr;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(nvml("nvmlDeviceCreateGpuInstance", nvml.gpu(), k1g5gb, &instance), NVML_SUCCESS);
  }
  EXPECT_EQ(nvml("nvmlDeviceCreateGpuInstance", nvml.gpu(), k1g5gb, &instance),
            NVML_ERROR_INSUFFICIENT_RESOURCES);
  unsigned int left = 9;
  EXPECT_EQ(nvml("nvmlDeviceGetGpuInstanceRemainingCapacity", nvml.gpu(), k7g40gb, &left),
            NVML_SUCCESS);
  EXPECT_EQ(left, 0U);
}

TEST(Mig, TheFirstSmallOneIsTheGuidesGi13) {
  const World world("a100-40gb");
  const Nvml nvml;
  nvmlReturn_t status = NVML_ERROR_UNKNOWN;
  set_mode(nvml, 1, status);
  nvmlGpuInstance_t instance = nullptr;
  ASSERT_EQ(nvml("nvmlDeviceCreateGpuInstance", nvml.gpu(), k1g5gb, &instance), NVML_SUCCESS);
  nvmlGpuInstanceInfo_t info = {};
  ASSERT_EQ(nvml("nvmlGpuInstanceGetInfo", instance, &info), NVML_SUCCESS);
  EXPECT_EQ(info.id, 13U);
  EXPECT_EQ(info.placement.start, 6U);
}

TEST(Mig, AHandleDoesNotOutliveItsInstance) {
  const World world("a100-40gb");
  const Nvml nvml;
  nvmlReturn_t status = NVML_ERROR_UNKNOWN;
  set_mode(nvml, 1, status);
  nvmlGpuInstance_t instance = nullptr;
  nvmlComputeInstance_t compute = nullptr;
  nvmlGpuInstance_t again = nullptr;
  nvmlGpuInstanceInfo_t info = {};
  ASSERT_EQ(nvml("nvmlDeviceCreateGpuInstance", nvml.gpu(), k1g5gb, &instance), NVML_SUCCESS);
  ASSERT_EQ(nvml("nvmlGpuInstanceCreateComputeInstance", instance, 0U, &compute), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlGpuInstanceDestroy", instance), NVML_ERROR_IN_USE);
  ASSERT_EQ(nvml("nvmlComputeInstanceDestroy", compute), NVML_SUCCESS);
  ASSERT_EQ(nvml("nvmlGpuInstanceDestroy", instance), NVML_SUCCESS);
  ASSERT_EQ(nvml("nvmlDeviceCreateGpuInstance", nvml.gpu(), k1g5gb, &again), NVML_SUCCESS);
  EXPECT_NE(again, instance);
  EXPECT_EQ(nvml("nvmlGpuInstanceGetInfo", instance, &info), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml("nvmlGpuInstanceGetInfo", again, &info), NVML_SUCCESS);
}

TEST(Mig, ModeWaitsForTheLastProcess) {
  const World world("a100-40gb");
  const Nvml nvml;
  const auto sim = world.open();
  const auto slot = sim->claim_slot("");
  ASSERT_TRUE(add_use(*sim, **slot, {}));
  nvmlReturn_t status = NVML_SUCCESS;
  ASSERT_EQ(set_mode(nvml, 1, status), NVML_SUCCESS);
  EXPECT_EQ(status, NVML_ERROR_IN_USE);
  unsigned int current = 9;
  unsigned int pending = 9;
  ASSERT_EQ(nvml("nvmlDeviceGetMigMode", nvml.gpu(), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 0U);
  EXPECT_EQ(pending, 1U);
  sim->release_slot(*slot);
  const Simulation::Guard guard(sim->state());
  EXPECT_TRUE(reset_gpu(*sim, sim->state().gpus[0]));
  EXPECT_EQ(sim->state().gpus[0].mig_current.load(), 1U);
}

TEST(Mig, PassedThroughGpuCannotBeReset) {
  const World world("a100-passthrough");
  const Nvml nvml;
  nvmlReturn_t status = NVML_SUCCESS;
  ASSERT_EQ(set_mode(nvml, 1, status), NVML_SUCCESS);
  EXPECT_EQ(status, NVML_ERROR_NOT_SUPPORTED);
}

TEST(Mig, AnInstanceHasItsOwnMemory) {
  const World world("a100-40gb-mig");
  const auto sim = world.open();
  const auto slot = sim->claim_slot("");
  const auto devices = mig_devices(sim->state().gpus[0]);
  const auto use = add_use(*sim, **slot, {0, devices[3].gpu_instance, devices[3].compute_instance});
  EXPECT_FALSE(take_memory(*sim, **use, 5000ULL << 20U));
  EXPECT_TRUE(take_memory(*sim, **use, 4864ULL << 20U));
  EXPECT_EQ(memory_use(*sim, 0, devices[2].gpu_instance).used, 0U);
  sim->release_slot(*slot);
}

TEST(Mig, ASmallerComputeInstanceIsNamedSo) {
  const World world("a100-40gb");
  const Nvml nvml;
  nvmlReturn_t status = NVML_ERROR_UNKNOWN;
  set_mode(nvml, 1, status);
  nvmlGpuInstance_t instance = nullptr;
  nvmlComputeInstance_t compute = nullptr;
  ASSERT_EQ(nvml("nvmlDeviceCreateGpuInstance", nvml.gpu(), 14U, &instance), NVML_SUCCESS);
  ASSERT_EQ(nvml("nvmlGpuInstanceCreateComputeInstance", instance, 0U, &compute), NVML_SUCCESS);
  ASSERT_EQ(nvml("nvmlGpuInstanceCreateComputeInstance", instance, 0U, &compute), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlGpuInstanceCreateComputeInstance", instance, 0U, &compute),
            NVML_ERROR_INSUFFICIENT_RESOURCES);
  EXPECT_EQ(nvml.text("nvmlDeviceGetName", nvml.mig(1)), "NVIDIA A100-SXM4-40GB MIG 1c.2g.10gb");
  nvmlDeviceAttributes_t attributes = {};
  ASSERT_EQ(nvml("nvmlDeviceGetAttributes_v2", nvml.mig(1), &attributes), NVML_SUCCESS);
  EXPECT_EQ(attributes.multiprocessorCount, 14U);
  EXPECT_EQ(attributes.computeInstanceSliceCount, 1U);
}

}  // namespace
}  // namespace tranche::sim::test::mig_test
