#include "config/names.h"

#include <gtest/gtest.h>

namespace tranche::config::names_test {
namespace {

struct Case {
  const char* name;
  std::string text;
  std::optional<std::string> expected;  // nullopt: refused
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class ResourceNameRule : public testing::TestWithParam<Case> {};

TEST_P(ResourceNameRule, Holds) {
  const auto name = parse_resource_name(GetParam().text);
  ASSERT_EQ(name.has_value(), GetParam().expected.has_value());
  if (name) {
    EXPECT_EQ(name->value, *GetParam().expected);
  } else {
    EXPECT_FALSE(name.error().hint.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Names, ResourceNameRule,
    testing::Values(Case{"plain", "gpu", "nvidia.com/gpu"},
                    Case{"qualified", "nvidia.com/gpu", "nvidia.com/gpu"},
                    Case{"mig", "mig-1g.5gb.me", "nvidia.com/mig-1g.5gb.me"},
                    Case{"longest", std::string(52, 'a'), "nvidia.com/" + std::string(52, 'a')},
                    Case{"too_long", std::string(53, 'a'), std::nullopt},
                    Case{"other_vendor", "amd.com/gpu", std::nullopt},
                    Case{"upper_case", "GPU", std::nullopt}, Case{"empty", "", std::nullopt},
                    Case{"prefix_alone", "nvidia.com/", std::nullopt},
                    Case{"underscore", "gpu_a", std::nullopt},
                    Case{"plus", "mig-1g.5gb+me", std::nullopt},
                    Case{"dash_first", "-gpu", std::nullopt},
                    Case{"dash_last", "gpu-", std::nullopt}, Case{"dot_last", "gpu.", std::nullopt},
                    Case{"two_dots", "gpu..a", std::nullopt}, Case{"space", "gpu a", std::nullopt}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(DeviceItem, FormsOfTheUnion) {
  const std::string uuid = "01234567-89ab-cdef-0123-456789abcdef";
  for (const auto& text :
       {std::string("0"), std::string("12"), std::string("0:1"), "GPU-" + uuid, "MIG-" + uuid,
        "MIG-GPU-" + uuid + "/1/0", std::string("GPU-0123456789abcdef0123456789abcdef")}) {
    EXPECT_TRUE(is_device_item(text)) << text;
  }
  for (const auto& text :
       {std::string(), std::string("all"), std::string("-1"), std::string("0:"), std::string(":0"),
        std::string("0:1:2"), std::string("GPU-"), std::string("GPU-0"), "gpu-" + uuid,
        "MIG-GPU-" + uuid, "MIG-GPU-" + uuid + "/1", "MIG-GPU-" + uuid + "/a/0",
        "MIG-GPU-" + uuid + "/1/0/2", uuid, std::string(30, '1')}) {
    EXPECT_FALSE(is_device_item(text)) << text;
  }
}

}  // namespace
}  // namespace tranche::config::names_test
