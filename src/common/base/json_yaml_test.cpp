#include "base/json_yaml.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace tranche::json::json_yaml_test {
namespace {

TEST(ToYaml, LaysOutAsKubectlDoes) {
  EXPECT_EQ(to_yaml(R"({"version":"x/v1","limits":[{"node":"n1","devices":[{"uuid":"GPU-a"},{"uuid":
"GPU-b","permille":300}],"tags":["a",1]},{"node":"n2","devices":[]}],"none":{},"of":{"a":null}})"),
            "version: \"x/v1\"\n"
            "limits:\n"
            "- node: \"n1\"\n"
            "  devices:\n"
            "  - uuid: \"GPU-a\"\n"
            "  - uuid: \"GPU-b\"\n"
            "    permille: 300\n"
            "  tags:\n"
            "  - \"a\"\n"
            "  - 1\n"
            "- node: \"n2\"\n"
            "  devices: []\n"
            "none: {}\n"
            "of:\n"
            "  a: null\n");
}

TEST(ToYaml, IsReadAsTheSame) {
  const auto read = yaml::parse(to_yaml(R"({"a":[{"b":"x: y # z\n\"q\""}],"c":true})"), "t");
  ASSERT_TRUE(read) << read.error().message();
  const auto* list = read->root.find("a");
  ASSERT_TRUE(list != nullptr && list->items.size() == 1);
  EXPECT_EQ(list->items[0].find("b")->scalar, "x: y # z\n\"q\"");
  EXPECT_EQ(to_yaml("[]"), "[]\n");
}

}  // namespace
}  // namespace tranche::json::json_yaml_test
