#include <gtest/gtest.h>

#include <string>

#include "lab/kubelet/registration_server.h"

namespace tranche::lab::registration_check_test {
namespace {

struct Case {
  const char* name;
  std::string resource;
  bool accepted;
};

class ResourceName : public testing::TestWithParam<Case> {};

TEST_P(ResourceName, IsAnExtendedResource) {
  const Case& c = GetParam();
  const auto result = check_registration({.version = "v1beta1", .resource = c.resource});
  EXPECT_EQ(result.has_value(), c.accepted);
  if (!c.accepted) {
    EXPECT_EQ(result.error().what, "the ResourceName \"" + c.resource + "\" is invalid");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, ResourceName,
    testing::Values(Case{"gpu", "nvidia.com/gpu", true},
                    Case{"mig", "nvidia.com/mig-1g.5gb.me", true},
                    Case{"upper_case_name", "nvidia.com/GPU_0", true},
                    Case{"longest_name", "a.b/" + std::string(63, 'x'), true},
                    Case{"too_long_name", "a.b/" + std::string(64, 'x'), false},
                    Case{"no_domain", "gpu", false}, Case{"empty", "", false},
                    Case{"empty_name", "nvidia.com/", false}, Case{"empty_domain", "/gpu", false},
                    Case{"native", "kubernetes.io/gpu", false},
                    Case{"native_below", "x.kubernetes.io/gpu", false},
                    Case{"quota_prefix", "requests.nvidia.com/gpu", false},
                    Case{"upper_case_domain", "Nvidia.com/gpu", false},
                    Case{"empty_label", "nvidia..com/gpu", false},
                    Case{"dash_at_the_end", "nvidia.com/gpu-", false},
                    Case{"two_slashes", "nvidia.com/a/b", false},
                    Case{"long_domain",
                         std::string(60, 'a') + "." + std::string(60, 'b') + "." +
                             std::string(60, 'c') + "." + std::string(62, 'd') + "/gpu",
                         false}),
    [](const auto& instance) { return instance.param.name; });

TEST(RegistrationCheck, RefusesAnotherVersion) {
  const auto result = check_registration({.version = "v1alpha", .resource = "nvidia.com/gpu"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what,
            "requested API version \"v1alpha\" is not supported by kubelet. Supported version is "
            "[\"v1beta1\"]");
}

}  // namespace
}  // namespace tranche::lab::registration_check_test
