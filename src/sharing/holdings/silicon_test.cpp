#include "holdings/silicon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "holdings/holding.h"

namespace tranche::holdings::silicon_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// GPU-0 has two instances, GPU-1 is whole.
gpu::Machine machine() {
  gpu::Machine machine;
  machine.gpus = {{.index = 0, .uuid = {"GPU-0"}}, {.index = 1, .uuid = {"GPU-1"}}};
  machine.gpus[0].mig_instances = {{.uuid = {"MIG-a"}}, {.uuid = {"MIG-b"}}};
  return machine;
}

TEST(Silicon, AGpuUsesThatOfItsInstancesAndAnInstanceThatOfItsGpu) {
  const Silicon silicon(machine());
  EXPECT_THAT(silicon.of("GPU-0"), UnorderedElementsAre("GPU-0", "MIG-a", "MIG-b"));
  EXPECT_THAT(silicon.of("MIG-a"), UnorderedElementsAre("GPU-0", "MIG-a"));
  EXPECT_THAT(silicon.of("GPU-1"), ElementsAre("GPU-1"));
  EXPECT_THAT(silicon.overlapping("MIG-b"), ElementsAre("GPU-0"));
  EXPECT_EQ(silicon.gpu_of("MIG-b"), "GPU-0");
  EXPECT_EQ(silicon.gpu_of("GPU-1"), "GPU-1");
}

TEST(Silicon, ADeviceThatIsNotThereHasNoGpuAndIsAlone) {
  const Silicon silicon(machine());
  EXPECT_EQ(silicon.gpu_of("MIG-gone"), "");
  EXPECT_FALSE(silicon.has("MIG-gone"));
  EXPECT_THAT(silicon.overlapping("MIG-gone"), IsEmpty());
  EXPECT_THAT(silicon.of("MIG-gone"), ElementsAre("MIG-gone"));
}

TEST(Silicon, TellsWhatOverlapTells) {
  const Silicon silicon(machine());
  const std::vector<std::string> all = {"GPU-0", "GPU-1", "MIG-a", "MIG-b"};
  for (const auto& a : all) {
    for (const auto& b : all) {
      EXPECT_EQ(silicon.of(a).contains(b), overlap({.device = a, .gpu = silicon.gpu_of(a)},
                                                   {.device = b, .gpu = silicon.gpu_of(b)}))
          << a << ' ' << b;
    }
  }
}

}  // namespace
}  // namespace tranche::holdings::silicon_test
