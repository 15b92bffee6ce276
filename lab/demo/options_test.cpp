#include "lab/demo/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tranche::demo::options_test {
namespace {

TEST(Options, Flags) {
  struct Case {
    const char* name;
    std::vector<std::string_view> arguments;
    Options options;
  };
  const std::vector<Case> cases = {
      {"none", {}, {}},
      {"plain", {"--plain"}, {.plain = true}},
      {"all", {"--pause", "--keep", "--plain"}, {.plain = true, .keep = true, .pause = true}},
      {"help", {"-h"}, {.help = true}},
  };
  for (const auto& test : cases) {
    const auto options = parse_options(test.arguments);
    ASSERT_TRUE(options) << test.name;
    EXPECT_EQ(*options, test.options) << test.name;
  }
}

TEST(Options, AnythingElseIsRefusedByName) {
  for (const std::string_view wrong : {"--plian", "x", ""}) {
    const std::vector<std::string_view> arguments = {"--plain", wrong};
    const auto options = parse_options(arguments);
    ASSERT_FALSE(options) << wrong;
    EXPECT_EQ(options.error().what, "unknown argument '" + std::string(wrong) + "'");
    EXPECT_THAT(options.error().hint, testing::HasSubstr("--help"));
  }
}

}  // namespace
}  // namespace tranche::demo::options_test
