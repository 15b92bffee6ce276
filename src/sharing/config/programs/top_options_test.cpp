#include "config/programs/top_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::config {
namespace {

using From = TopOptions::From;
using testing::HasSubstr;

Result<TopOptions> load_top(std::vector<FlagValue> flags,
                            std::map<std::string, std::string> environment = {}) {
  return load_top_options({.flags = std::move(flags), .environment = std::move(environment)});
}

TEST(TopOptions, WithoutFlagsItIsTheAgentOfThisMachine) {
  const auto options = load_top({}, {{"KUBECONFIG", "/a"}});
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->from, From::kAgent);
  EXPECT_TRUE(options->agent_by_default);
  EXPECT_EQ(options->server, "http://localhost:9400");
  EXPECT_EQ(options->interval, std::chrono::seconds(2));
  EXPECT_EQ(options->record_limit, std::uint64_t{1} << 30U);
  EXPECT_EQ(options->service, (ControllerService{"tranche", "tranche-controller-web:web"}));
  EXPECT_FALSE(options->once);
}

TEST(TopOptions, WhereFrom) {
  struct Case {
    FlagValue flag;
    From from;
  };
  for (const auto& [flag, from] :
       {Case{{"agent", "https://a:1"}, From::kAgent}, Case{{"local", "true"}, From::kLocal},
        Case{{"controller", "https://c:1"}, From::kController},
        Case{{"cluster", "true"}, From::kCluster}, Case{{"kubeconfig", "/k"}, From::kCluster},
        Case{{"context", "c"}, From::kCluster}, Case{{"replay", "f"}, From::kReplay}}) {
    const auto options = load_top({flag});
    ASSERT_TRUE(options) << flag.name;
    EXPECT_EQ(options->from, from) << flag.name;
    EXPECT_FALSE(options->agent_by_default) << flag.name;
  }
  EXPECT_EQ(load_top({{"controller", "https://c:1"}})->server, "https://c:1");
}

TEST(TopOptions, OutputForProgramsIsOneReading) {
  EXPECT_TRUE(load_top({{"output", "json"}})->once);
  EXPECT_FALSE(load_top({{"output", "table"}})->once);
  EXPECT_EQ(load_top({{"no-color", "true"}})->theme, "none");
}

TEST(TopOptions, ErrorsAreReported) {
  struct Case {
    std::vector<FlagValue> flags;
    std::string message;
  };
  for (const auto& [flags, message] :
       {Case{{{"local", "true"}, {"replay", "f"}}, "stands beside --local"},
        Case{{{"service", "a"}}, "'a' names no Service"},
        Case{{{"service", "a/../b"}}, "names no Service"},
        Case{{{"record-limit", "much"}}, "record-limit"}, Case{{{"speed", "0"}}, "no speed"},
        Case{{{"interval", "1ms"}}, "too short"}, Case{{{"interval", "infinite"}}, "too long"},
        Case{{{"sort", "memori"}}, "did you mean \"memory\"?"},
        Case{{{"record", "a"}, {"replay", "b"}}, "a recording is replayed"}}) {
    const auto options = load_top(flags);
    ASSERT_FALSE(options) << message;
    EXPECT_THAT(options.error().message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace tranche::config
