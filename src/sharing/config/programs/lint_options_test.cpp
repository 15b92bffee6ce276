#include "config/programs/lint_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config::lint_options_test {
namespace {

using testing::HasSubstr;

TEST(LintOptions, FilesAndFlags) {
  const auto options = load_lint_options(
      {.flags = {{"output", "json"}, {"fix-to", "out"}, {"strict", "true"}, {"context", "prod"}}},
      {"a", "-"});
  ASSERT_TRUE(options) << options.error().message();
  const LintOptions expected{.files = {"a", "-"},
                             .output = OutputForm::kJson,
                             .fix_to = "out",
                             .strict = true,
                             .cluster = true,
                             .snapshot = "",
                             .api_server = {.kubeconfig = "", .context = "prod"}};
  EXPECT_EQ(*options, expected);
}

// The same file must give the same findings on every machine.
TEST(LintOptions, TheEnvironmentAloneNamesNoCluster) {
  const Sources sources{.environment = {{"KUBECONFIG", "/x"}}};
  const auto options = load_lint_options(sources, {"a"});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->cluster);
  EXPECT_EQ(options->api_server.kubeconfig, "/x");
}

TEST(LintOptions, ErrorsAreReported) {
  struct Case {
    const char* name;
    std::vector<FlagValue> flags;
    std::vector<std::string> files;
    const char* says;
  };
  const Case cases[] = {
      {"no file", {}, {}, "no file is named; name files or folders"},
      {"form", {{"output", "xml"}}, {"a"}, "'xml' is no form"},
      {"both", {{"cluster", "true"}, {"snapshot", "s"}}, {"a"}, "leave out one of them"},
      {"neither", {{"cluster", "false"}, {"kubeconfig", "k"}}, {"a"}, "shall not be asked"},
  };
  for (const auto& one : cases) {
    const auto options = load_lint_options({.flags = one.flags}, one.files);
    ASSERT_FALSE(options) << one.name;
    EXPECT_THAT(options.error().message(), HasSubstr(one.says)) << one.name;
  }
}

}  // namespace
}  // namespace tranche::config::lint_options_test
