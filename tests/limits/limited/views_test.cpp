// What a container is shown of its devices before an arbiter has answered: what the agent wrote
// (limit/part_format.h). With an arbiter: memory_test.cpp; every function of NVML: test_views.py.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "limit/part_file.h"
#include "limit/part_format.h"
#include "limits/limited/container.h"

namespace tranche::test::views_test {
namespace {

using namespace sim::abi;        // NOLINT(google-build-using-namespace)
using namespace sim::cuda::abi;  // NOLINT(google-build-using-namespace)
using sim::cuda::test::in_program;
using sim::cuda::test::Program;
using sim::test::World;

constexpr std::uint64_t kPart = kGiB;

// A container without an arbiter.
class Alone {
 public:
  explicit Alone(const limit::TenantLimits& limits) {
    std::filesystem::create_directories(kFolder / "tenant");
    std::ofstream(kFolder / "tenant" / limit::part_format::kName) << part_file_of(limits);
    std::filesystem::remove("/run/tranche");
    std::filesystem::create_directory_symlink(kFolder, "/run/tranche");
  }
  ~Alone() {
    std::filesystem::remove("/run/tranche");
    std::filesystem::remove_all(kFolder);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  static inline const std::filesystem::path kFolder = "/run/limits/alone";
};

TEST(ViewsWithoutAnArbiter, CudaIsAnsweredWithThePart) {
  const World world("l20");
  const Alone alone(part_of(world, kPart));
  in_program([] {
    Program program;
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(program.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, kPart);
    EXPECT_EQ(program.cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(total, kPart);
    EXPECT_EQ(free, kPart) << "nothing is given out yet";
  });
}

TEST(ViewsWithoutAnArbiter, WhatIsOnlyCountedIsShownAsItIs) {
  const World world("l20");
  auto limits = part_of(world, kPart);
  limits.enforcement = Enforcement::kAccount;
  const Alone alone(limits);
  in_program([] {
    Program program;
    std::size_t total = 0;
    EXPECT_EQ(program.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    EXPECT_GT(total, 40 * kGiB);
  });
}

TEST(ViewsWithoutAnArbiter, OtherDevicesAreShownAsTheyAre) {
  const World world("a100-80gb-x4");
  const Alone alone(part_of(world, kPart));
  in_program([] {
    Program program;
    std::size_t total = 0;
    EXPECT_EQ(program.cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, kPart);
    EXPECT_EQ(program.cuDeviceTotalMem_v2(&total, 1), CUDA_SUCCESS);
    EXPECT_GT(total, 70 * kGiB) << "it is not this container's part of anything";
  });
}

// On a shared MIG instance.
TEST(ViewsWithoutAnArbiter, AMigInstanceIsShownAsThePartOfIt) {
  const World world("a100-40gb-mig");
  in_program([] {
    char uuid[96] = {};
    const sim::test::Nvml nvml;
    ASSERT_EQ(nvml("nvmlDeviceGetUUID", nvml.mig(2), uuid, unsigned{sizeof(uuid)}), NVML_SUCCESS);
    std::ofstream("/run/limits/mig-uuid") << uuid;
  });
  std::string name;
  std::ifstream("/run/limits/mig-uuid") >> name;
  std::filesystem::remove("/run/limits/mig-uuid");
  auto limits = part_of(world, kPart);
  limits.devices[0].uuid = name;
  const Alone alone(limits);
  in_program([] {
    const sim::test::Nvml nvml;
    nvmlMemory_t memory{};
    ASSERT_EQ(nvml("nvmlDeviceGetMemoryInfo", nvml.mig(2), &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, kPart);
    EXPECT_EQ(memory.used, 0U);
    EXPECT_EQ(memory.free, kPart);
    nvmlDeviceAttributes_t attributes{};
    ASSERT_EQ(nvml("nvmlDeviceGetAttributes_v2", nvml.mig(2), &attributes), NVML_SUCCESS);
    EXPECT_EQ(attributes.memorySizeMB, kPart / kMiB);
    ASSERT_EQ(nvml("nvmlDeviceGetMemoryInfo", nvml.mig(1), &memory), NVML_SUCCESS);
    EXPECT_GT(memory.total, 4 * kGiB) << "another instance";
  });
}

}  // namespace
}  // namespace tranche::test::views_test
