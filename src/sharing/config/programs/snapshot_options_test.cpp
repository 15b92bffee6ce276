#include "config/programs/snapshot_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::snapshot_options_test {
namespace {

using testing::HasSubstr;

TEST(SnapshotOptions, FlagsAndDefaults) {
  const auto none = load_snapshot_options({});
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_EQ(*none, (SnapshotOptions{.operator_namespace = "gpu-operator"}));
  const auto all = load_snapshot_options({.flags = {{"output", "a.json"},
                                                    {"anonymize", "true"},
                                                    {"config-map", "b/two,a/one,b/two"},
                                                    {"operator-namespace", "gpu"},
                                                    {"context", "prod"}}});
  ASSERT_TRUE(all) << all.error().message();
  const SnapshotOptions expected{.file = "a.json",
                                 .anonymize = true,
                                 .config_maps = {{"a", "one"}, {"b", "two"}},
                                 .operator_namespace = "gpu",
                                 .api_server = {.kubeconfig = "", .context = "prod"}};
  EXPECT_EQ(*all, expected);
  EXPECT_EQ(load_snapshot_options({.flags = {{"output", "-"}}})->file, "");
}

TEST(SnapshotOptions, ErrorsAreReported) {
  const struct {
    const char* name;
    FlagValue flag;
    const char* says;
  } cases[] = {
      {"no namespace", {"config-map", "one"}, "'one' names no ConfigMap; write NAMESPACE/NAME"},
      {"a path", {"config-map", "a/b/c"}, "'a/b/c' names no ConfigMap"},
      {"nothing behind", {"config-map", "a/"}, "'a/' names no ConfigMap"},
      {"namespace", {"operator-namespace", "A B"}, "'A B' is no name"},
      {"anonymize", {"anonymize", "perhaps"}, "perhaps"},
      {"snapshot", {"snapshot", "s"}, "it is one already; add --anonymize"},
  };
  EXPECT_EQ(load_snapshot_options({.flags = {{"snapshot", "s"}, {"anonymize", "true"}}})->snapshot,
            "s");
  for (const auto& one : cases) {
    const auto options = load_snapshot_options({.flags = {one.flag}});
    ASSERT_FALSE(options) << one.name;
    EXPECT_EQ(options.error().code, Code::kInvalidArgument) << one.name;
    EXPECT_THAT(options.error().message(), HasSubstr(one.says)) << one.name;
  }
}

}  // namespace
}  // namespace tranche::config::snapshot_options_test
