#include "dra/all_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dra/pool.h"
#include "support/machines.h"

namespace tranche::dra::all_devices_test {
namespace {

using testing::HasSubstr;

constexpr const char* kOurClass =
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'";

// Two L20 and two H100.
std::vector<cluster::SliceDevice> listed(bool shares = true) {
  const auto machine = test::machine_of({test::l20(0), test::l20(1), test::h100(2), test::h100(3)});
  return make_pool(machine, {.shares = shares}).gpus;
}

std::vector<cluster::AllocatedDevice> given(const std::vector<int>& gpus) {
  std::vector<cluster::AllocatedDevice> all;
  for (const int gpu : gpus) {
    all.push_back({.request = "gpu",
                   .driver = "gpu.nvidia.com",
                   .pool = "gpu-n1",
                   .device = "gpu-" + std::to_string(gpu)});
  }
  return all;
}

struct Row {
  const char* name;
  std::vector<int> gpus;
  std::vector<std::string> selectors;
  std::vector<std::string> capacities;
  const char* left_out;  // "": has all
};

TEST(AllDevices, ARequestForAllHasAllOrSaysWhatItLacks) {
  const std::string model = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L20'";
  const std::string bus = "device.attributes['resource.kubernetes.io'].pciBusID == '0000:10:00.0'";
  const Row rows[] = {
      {"all", {0, 1, 2, 3}, {}, {}, ""},
      {"one is in use", {0, 2, 3}, {}, {}, "gpu-1"},
      {"a whole model is in use", {0, 1}, {}, {}, "gpu-2, gpu-3"},
      {"all of a model", {0, 1}, {model}, {}, ""},
      {"one of a model", {0}, {model}, {}, "gpu-1"},
      {"what tells two apart", {0}, {model, bus}, {}, ""},
      {"smaller ones may not have that much", {2, 3}, {}, {"memory"}, ""},
      {"one as large is in use", {2}, {}, {"memory"}, "gpu-3"},
      {"none of this request's", {}, {}, {}, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const cluster::RequestForAll request{"gpu", "gpu.nvidia.com", row.selectors, row.capacities};
    const auto checked = check_has_all(request, {kOurClass}, given(row.gpus), listed());
    ASSERT_EQ(checked.has_value(), std::string(row.left_out).empty());
    if (checked) continue;
    EXPECT_EQ(checked.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(checked.error().message(),
                HasSubstr(std::string("left out ") + row.left_out + ","));
  }
}

// The scheduler knows of these itself.
TEST(AllDevices, GpusThatCannotBeSharedAreNotLeftOut) {
  const cluster::RequestForAll request{"gpu", "gpu.nvidia.com", {}, {}};
  EXPECT_TRUE(check_has_all(request, {}, given({0}), listed(false)));
}

TEST(AllDevices, AnotherRequestsDevicesAreNotThisOnes) {
  const cluster::RequestForAll request{"all", "gpu.nvidia.com", {}, {}};
  EXPECT_TRUE(check_has_all(request, {}, given({0}), listed()));
}

}  // namespace
}  // namespace tranche::dra::all_devices_test
