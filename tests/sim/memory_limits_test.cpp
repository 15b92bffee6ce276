// Memory limits of control groups, as a client of NVML sees them.

#include "sim/gpu/memory_limits.h"

#include <gmock/gmock.h>

#include <cstring>

#include "sim/gpu/memory.h"
#include "sim/gpu/uses.h"
#include "support.h"

namespace tranche::sim::test::memory_limits_test {
namespace {

using namespace abi;

constexpr std::uint64_t kMiB = 1U << 20U;

class MemoryLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "the driver takes limits from root alone";
  }
  std::string group(const std::string& name, const std::string& members) const {
    const auto folder = world.folder() / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cgroup.procs") << members;
    return folder;
  }
  static nvmlReturn_t set(const Nvml& nvml, const std::string& cgroup, unsigned long long soft,
                          unsigned long long hard) {
    nvmlSetMemoryLimits_v1_t limits = {cgroup.c_str(), soft, hard};
    return nvml("nvmlDeviceSetMemoryLimits_v1", nvml.gpu(), &limits);
  }
  static nvmlReturn_t get(const Nvml& nvml, const std::string& cgroup,
                          nvmlGetMemoryLimits_v1_t& limits) {
    limits = {cgroup.c_str(), 1, 1, 1};
    return nvml("nvmlDeviceGetMemoryLimits_v1", nvml.gpu(), &limits);
  }

  World world{"h200-r615"};
};

TEST_F(MemoryLimitsTest, ArgumentsAreThoseOfTheDocumentation) {
  const Nvml nvml;
  const auto cgroup = group("c", "1\n");
  nvmlGetMemoryLimits_v1_t limits = {};
  EXPECT_EQ(get(nvml, cgroup, limits), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(set(nvml, cgroup, 2 * kMiB, kMiB), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(set(nvml, cgroup, 0, 143772 * kMiB), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(set(nvml, cgroup + "/nowhere", 0, kMiB), NVML_ERROR_OPERATING_SYSTEM);
  EXPECT_EQ(set(nvml, cgroup, kMiB, 2 * kMiB), NVML_SUCCESS);
  ASSERT_EQ(get(nvml, cgroup + "/", limits), NVML_SUCCESS);
  EXPECT_EQ(limits.softLimit, kMiB);
  EXPECT_EQ(limits.hardLimit, 2 * kMiB);
  EXPECT_EQ(limits.currentUsed, 0U);
  EXPECT_EQ(set(nvml, cgroup, 0, NVML_DEVICE_MEMORY_LIMIT_MAX), NVML_SUCCESS);
  EXPECT_EQ(get(nvml, cgroup, limits), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvml("nvmlDeviceSetMemoryLimits_v1", nvml.gpu(),
                 static_cast<nvmlSetMemoryLimits_v1_t*>(nullptr)),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(MemoryLimitsTest, OnlyRootSetsThemAndAnybodyReads) {
  const auto cgroup = group("c", "1\n");
  {
    const Nvml made;
  }
  std::filesystem::permissions(world.folder(), std::filesystem::perms::all);
  for (const auto& entry : std::filesystem::directory_iterator(world.folder())) {
    std::filesystem::permissions(entry.path(), std::filesystem::perms::all);
  }
  const int code = wait_for(in_child([&] {
    if (::seteuid(65534) != 0) return 9;
    const Nvml nvml;
    nvmlGetMemoryLimits_v1_t limits = {};
    if (set(nvml, cgroup, 0, kMiB) != NVML_ERROR_NO_PERMISSION) return 1;
    return get(nvml, cgroup, limits) == NVML_ERROR_NOT_FOUND ? 0 : 2;
  }));
  EXPECT_EQ(code, 0);
}

TEST_F(MemoryLimitsTest, AGpuInMigModeHasNone) {
  const Nvml nvml;
  const auto cgroup = group("c", "1\n");
  world.open()->state().gpus[0].mig_current.store(1);
  EXPECT_EQ(set(nvml, cgroup, 0, kMiB), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(MemoryLimitsTest, AnOlderDriverHasNoSuchFunction) {
  const World older("h200");
  const Nvml nvml;
  EXPECT_EQ(set(nvml, group("c", "1\n"), 0, kMiB), NVML_ERROR_FUNCTION_NOT_FOUND);
}

TEST_F(MemoryLimitsTest, WithinTheGroupTheLimitIsTheDevice) {
  const Nvml nvml;
  const auto sim = world.open();
  const auto outer = group("c", "");
  group("c/inner", std::to_string(::getpid()) + "\n");
  ASSERT_EQ(set(nvml, outer, 0, 500 * kMiB), NVML_SUCCESS);
  ProcessSlot* const slot = sim->claim_slot("mine").value();
  Use& use = *add_use(*sim, *slot, {.gpu = 0}).value();
  EXPECT_TRUE(take_memory(*sim, use, 200 * kMiB));
  EXPECT_FALSE(take_memory(*sim, use, 301 * kMiB));
  nvmlMemory_v2_t memory = {};
  memory.version = struct_version<nvmlMemory_v2_t>(2);
  ASSERT_EQ(nvml("nvmlDeviceGetMemoryInfo_v2", nvml.gpu(), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 500 * kMiB);
  EXPECT_EQ(memory.used, 200 * kMiB);
  EXPECT_EQ(memory.free, 300 * kMiB);
  // With nested groups each limit applies.
  ASSERT_EQ(set(nvml, outer + "/inner", 0, 250 * kMiB), NVML_SUCCESS);
  EXPECT_FALSE(take_memory(*sim, use, 51 * kMiB));
  EXPECT_TRUE(take_memory(*sim, use, 50 * kMiB));
  // The other GPU is independent.
  Use& other = *add_use(*sim, *slot, {.gpu = 1}).value();
  EXPECT_TRUE(take_memory(*sim, other, 1000 * kMiB));
  // Managed memory is not counted.
  EXPECT_EQ(take_managed(*sim, use, 400 * kMiB), 400 * kMiB);
  sim->release_slot(slot);
}

TEST_F(MemoryLimitsTest, GroupsThatAreGoneMakeRoomForOthers) {
  const Nvml nvml;
  for (unsigned i = 0; i < 2 * kMaxMemoryLimits; ++i) {
    const auto cgroup = group("c" + std::to_string(i), "1\n");
    ASSERT_EQ(set(nvml, cgroup, 0, kMiB), NVML_SUCCESS) << i;
    if (i % 2 == 0) std::filesystem::remove_all(cgroup);
  }
  EXPECT_EQ(set(nvml, group("more", "1\n"), 0, kMiB), NVML_ERROR_INSUFFICIENT_RESOURCES);
}

}  // namespace
}  // namespace tranche::sim::test::memory_limits_test
