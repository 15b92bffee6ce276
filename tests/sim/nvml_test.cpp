// The library as a client sees it: NVML's behaviour.

#include <gmock/gmock.h>

#include "sim/gpu/memory.h"
#include "sim/gpu/topology.h"
#include "sim/gpu/uses.h"
#include "sim/gpu/utilisation.h"
#include "sim/state/faults.h"
#include "support.h"

namespace tranche::sim::test::nvml_test {
namespace {

using namespace abi;

TEST(Manners, NothingWorksBeforeInit) {
  const World world("l20");
  {
    const Nvml initialised;
  }
  void* handle = ::dlopen(TRANCHE_SIM_NVML, RTLD_NOW | RTLD_LOCAL);
  unsigned int count = 0;
  using Count = nvmlReturn_t (*)(unsigned int*);
  EXPECT_EQ(reinterpret_cast<Count>(::dlsym(handle, "nvmlDeviceGetCount_v2"))(&count),
            NVML_ERROR_UNINITIALIZED);
  using Shutdown = nvmlReturn_t (*)();
  EXPECT_EQ(reinterpret_cast<Shutdown>(::dlsym(handle, "nvmlShutdown"))(),
            NVML_ERROR_UNINITIALIZED);
}

TEST(Manners, InitIsCounted) {
  const World world("l20");
  const Nvml nvml;
  EXPECT_EQ(nvml("nvmlInitWithFlags", 0U), NVML_SUCCESS);
  EXPECT_EQ(nvml("nvmlShutdown"), NVML_SUCCESS);
  EXPECT_EQ(nvml.count(), 1U);
}

TEST(Manners, ArgumentsAreChecked) {
  const World world("l20");
  const Nvml nvml;
  const nvmlDevice_t gpu = nvml.gpu();
  nvmlDevice_t out = nullptr;
  char small[4] = {};
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 1U, &out), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByIndex_v2", 0U, static_cast<nvmlDevice_t*>(nullptr)),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml("nvmlDeviceGetName", gpu, &small[0], 4U), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvml("nvmlDeviceGetName", static_cast<nvmlDevice_t>(nullptr), &small[0], 4U),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUID", "GPU-none", &out), NVML_ERROR_NOT_FOUND);
  unsigned int mode = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetMigMode", gpu, &mode, &mode), NVML_ERROR_NOT_SUPPORTED);
  nvmlMemory_v2_t memory = {};
  EXPECT_EQ(nvml("nvmlDeviceGetMemoryInfo_v2", gpu, &memory), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

TEST(Manners, AnInventedHandleIsRefused) {
  const World world("l20");
  const Nvml nvml;
  unsigned int index = 0;
  int something = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetIndex", reinterpret_cast<nvmlDevice_t>(&something), &index),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Devices, AreFoundByEveryName) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  ASSERT_EQ(nvml.count(), 8U);
  const nvmlDevice_t gpu = nvml.gpu(3);
  nvmlDevice_t same = nullptr;
  const std::string uuid = nvml.text("nvmlDeviceGetUUID", gpu);
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByUUID", uuid.c_str(), &same), NVML_SUCCESS);
  EXPECT_EQ(same, gpu);
  nvmlPciInfo_t pci = {};
  EXPECT_EQ(nvml("nvmlDeviceGetPciInfo_v3", gpu, &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000000:4E:00.0");
  EXPECT_STREQ(pci.busIdLegacy, "0000:4E:00.0");
  EXPECT_EQ(pci.pciDeviceId, 0x20B210DEU);
  same = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetHandleByPciBusId_v2", "0000:4e:00.0", &same), NVML_SUCCESS);
  EXPECT_EQ(same, gpu);
}

struct VisibleCase {
  std::string name;
  const char* value;
  unsigned int count;
};

class VisibleDevices : public ::testing::TestWithParam<VisibleCase> {};

TEST_P(VisibleDevices, NarrowWhatIsCounted) {
  const World world("a100-80gb-x8");
  if (GetParam().value != nullptr) ::setenv("NVIDIA_VISIBLE_DEVICES", GetParam().value, 1);
  const Nvml nvml;
  EXPECT_EQ(nvml.count(), GetParam().count);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, VisibleDevices,
    ::testing::Values(VisibleCase{"unset", nullptr, 8}, VisibleCase{"all", "all", 8},
                      VisibleCase{"none", "none", 0}, VisibleCase{"index", "3", 1},
                      VisibleCase{"indices", "7,0", 2}, VisibleCase{"unknown", "GPU-x,99", 0},
                      VisibleCase{"no_mig_there", "0:1", 0}),
    [](const auto& param) { return param.param.name; });

TEST(VisibleDevicesMig, ShowOneInstanceAndItsParent) {
  const World world("a100-40gb-mig");
  ::setenv("NVIDIA_VISIBLE_DEVICES", "0:1", 1);
  const Nvml nvml;
  ASSERT_EQ(nvml.count(), 1U);
  EXPECT_EQ(nvml.text("nvmlDeviceGetName", nvml.mig(0)), "NVIDIA A100-SXM4-40GB MIG 2g.10gb");
  nvmlDevice_t second = nullptr;
  EXPECT_EQ(nvml("nvmlDeviceGetMigDeviceHandleByIndex", nvml.gpu(), 1U, &second),
            NVML_ERROR_NOT_FOUND);
}

TEST(Processes, AreListedWithNvmlsSizeProtocol) {
  const World world("t4");
  const Nvml nvml;
  const auto sim = world.open();
  const auto slot = sim->claim_slot("python");
  const auto use = add_use(*sim, **slot, {});
  ASSERT_TRUE(take_memory(*sim, **use, 315U << 20U));
  unsigned int count = 0;
  nvmlProcessInfo_v2_t info = {};
  EXPECT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses_v3", nvml.gpu(), &count,
                 static_cast<nvmlProcessInfo_v2_t*>(nullptr)),
            NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(nvml("nvmlDeviceGetComputeRunningProcesses_v3", nvml.gpu(), &count, &info),
            NVML_SUCCESS);
  EXPECT_EQ(info.pid, static_cast<unsigned int>(::getpid()));
  EXPECT_EQ(info.usedGpuMemory, 315ULL << 20U);
  EXPECT_EQ(info.gpuInstanceId, 0xFFFFFFFFU);
  char name[32] = {};
  EXPECT_EQ(nvml("nvmlSystemGetProcessName", info.pid, &name[0], 32U), NVML_SUCCESS);
  EXPECT_STREQ(name, "python");
  sim->release_slot(*slot);
}

TEST(Utilisation, ComesInWindowsAndIsSharedOut) {
  const World world("t4");
  const auto sim = world.open();
  const auto slot = sim->claim_slot("");
  ASSERT_TRUE(slot);
  constexpr std::uint64_t kPeriod = 167'000'000;
  for (int i = 0; i < 2; ++i) {
    const auto use = add_use(*sim, **slot, {});
    (*use)->declared_since_ns.store(1000 * kPeriod + kPeriod / 2);
    (*use)->declared_permille.store(800);
  }
  EXPECT_EQ(window_load(*sim, 0, 999).permille, 0U);
  EXPECT_EQ(window_load(*sim, 0, 1000).permille, 800U);
  const WindowLoad full = window_load(*sim, 0, 1001);
  EXPECT_EQ(full.permille, 1000U);
  ASSERT_EQ(full.processes.size(), 2U);
  EXPECT_EQ(full.processes[0].permille, 500U);
  (*slot)->uses[0].windows[1002 % kMaxWindows].index.store(1002);
  (*slot)->uses[0].windows[1002 % kMaxWindows].busy_ns.store(kPeriod);
  EXPECT_EQ(window_load(*sim, 0, 1002).processes[0].permille, 1800U * 1000 / 2600);
  sim->release_slot(*slot);
}

TEST(Utilisation, IdleIsNotFound) {
  const World world("t4");
  const Nvml nvml;
  unsigned int count = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetProcessUtilization", nvml.gpu(),
                 static_cast<nvmlProcessUtilizationSample_t*>(nullptr), &count, 0ULL),
            NVML_ERROR_NOT_FOUND);
  nvmlUtilization_t rates = {7, 7};
  EXPECT_EQ(nvml("nvmlDeviceGetUtilizationRates", nvml.gpu(), &rates), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 0U);
}

TEST(Links, LeadToSwitches) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  nvmlPciInfo_t pci = {};
  int type = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.gpu(), 0U, &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000000:C2:00.0");
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemoteDeviceType", nvml.gpu(), 0U, &type), NVML_SUCCESS);
  EXPECT_EQ(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
  unsigned int active = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", nvml.gpu(), 12U, &active), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", nvml.gpu(), 18U, &active),
            NVML_ERROR_INVALID_ARGUMENT);
  int status = -1;
  EXPECT_EQ(nvml("nvmlDeviceGetP2PStatus", nvml.gpu(0), nvml.gpu(7), 2, &status), NVML_SUCCESS);
  EXPECT_EQ(status, NVML_P2P_STATUS_OK);
}

TEST(Links, ThatAreDownSaySoAndLeadWhereTheyLed) {
  const World world("a100-80gb-x8");
  const Nvml nvml;
  const auto sim = world.open();
  ASSERT_TRUE(sim);
  set_links_up(sim->state().gpus[1], false);
  unsigned int active = 7;
  int type = 0;
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", nvml.gpu(1), 0U, &active), NVML_SUCCESS);
  EXPECT_EQ(active, 0U);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkRemoteDeviceType", nvml.gpu(1), 0U, &type), NVML_SUCCESS);
  EXPECT_EQ(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", nvml.gpu(1), 12U, &active), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", nvml.gpu(0), 0U, &active), NVML_SUCCESS);
  EXPECT_EQ(active, 1U);
  set_links_up(sim->state().gpus[1], true);
  EXPECT_EQ(nvml("nvmlDeviceGetNvLinkState", nvml.gpu(1), 0U, &active), NVML_SUCCESS);
  EXPECT_EQ(active, 1U);
}

TEST(AddressingMode, IsToldByDriversThatHaveIt) {
  {
    const World world("l20");
    const Nvml nvml;
    nvmlDeviceAddressingMode_v1_t mode = {.version =
                                              struct_version<nvmlDeviceAddressingMode_v1_t>(1)};
    EXPECT_EQ(nvml("nvmlDeviceGetAddressingMode", nvml.gpu(), &mode),
              NVML_ERROR_FUNCTION_NOT_FOUND);
  }
  const World world("h100-r615");
  const Nvml nvml;
  nvmlDeviceAddressingMode_v1_t mode = {};
  EXPECT_EQ(nvml("nvmlDeviceGetAddressingMode", nvml.gpu(), &mode),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  mode.version = struct_version<nvmlDeviceAddressingMode_v1_t>(1);
  EXPECT_EQ(nvml("nvmlDeviceGetAddressingMode", nvml.gpu(), &mode), NVML_SUCCESS);
  EXPECT_EQ(mode.value, NVML_DEVICE_ADDRESSING_MODE_HMM);
}

TEST(Fabric, IsToldInItsVersions) {
  const World world("h200");
  const Nvml nvml;
  nvmlGpuFabricInfo_v3_t info = {};
  EXPECT_EQ(nvml("nvmlDeviceGetGpuFabricInfoV", nvml.gpu(), &info),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  info.version = struct_version<nvmlGpuFabricInfo_v3_t>(3);
  EXPECT_EQ(nvml("nvmlDeviceGetGpuFabricInfoV", nvml.gpu(), &info), NVML_SUCCESS);
  EXPECT_EQ(info.state, 3);
  EXPECT_EQ(info.clusterUuid[0], 0x8D);
}

TEST(BrokenDriver, FailsAtInit) {
  const World world("broken-driver");
  const Nvml nvml;
  EXPECT_EQ(nvml.init_result(), NVML_ERROR_LIB_RM_VERSION_MISMATCH);
}

}  // namespace
}  // namespace tranche::sim::test::nvml_test
