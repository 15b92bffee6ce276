#include "admission/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::share_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<Ask> ask_of(const char* json, bool has_replica = false) {
  return read_ask("main", *json::parse(json), has_replica);
}

TEST(ReadAsk, TakesLimitsAndEqualRequests) {
  struct Case {
    const char* name;
    const char* json;
    std::optional<Amount> amount;
  };
  const Case cases[] = {
      {"limits alone", R"({"limits":{"nvidia.com/gpu":0.5}})", Amount{.hundredths = 50}},
      {"both", R"({"limits":{"nvidia.com/gpu":"0.5"},"requests":{"nvidia.com/gpu":"500m"}})",
       Amount{.hundredths = 50}},
      {"a whole one", R"({"limits":{"nvidia.com/gpu":1}})", Amount{.whole = 1}},
      {"whole ones that differ are Kubernetes' concern",
       R"({"limits":{"nvidia.com/gpu":2},"requests":{"nvidia.com/gpu":1}})", Amount{.whole = 2}},
      {"only requests, whole", R"({"requests":{"nvidia.com/gpu":1}})", Amount{.whole = 1}},
      {"another resource", R"({"limits":{"cpu":"0.5"}})", std::nullopt},
      {"empty", "{}", std::nullopt},
      {"null", "null", std::nullopt},
      {"limits are null", R"({"limits":null})", std::nullopt},
  };
  for (const auto& [name, json, amount] : cases) {
    SCOPED_TRACE(name);
    const auto ask = ask_of(json);
    ASSERT_TRUE(ask) << ask.error().message();
    EXPECT_EQ(*ask, (Ask{.container = "main", .amount = amount}));
  }
}

TEST(ReadAsk, RefusesWhatKubernetesWouldRefuse) {
  struct Case {
    const char* name;
    const char* json;
    const char* message;
  };
  const Case cases[] = {
      {"only requests", R"({"requests":{"nvidia.com/gpu":0.5}})", "limits say nothing"},
      {"they differ", R"({"limits":{"nvidia.com/gpu":0.5},"requests":{"nvidia.com/gpu":0.25}})",
       "limits.nvidia.com/gpu is 0.5, and requests say 0.25"},
      {"a fraction and a whole one",
       R"({"limits":{"nvidia.com/gpu":1},"requests":{"nvidia.com/gpu":0.5}})", "requests say 0.5"},
      {"no step", R"({"limits":{"nvidia.com/gpu":0.505}})",
       "limits.nvidia.com/gpu: 0.505 is no step of 0.01; write 0.5 or 0.51"},
  };
  for (const auto& [name, json, message] : cases) {
    SCOPED_TRACE(name);
    const auto ask = ask_of(json);
    ASSERT_FALSE(ask);
    EXPECT_EQ(ask.error().code, Code::kInvalidArgument);
    EXPECT_THAT(ask.error().message(), AllOf(HasSubstr("container \"main\""), HasSubstr(message)));
  }
}

TEST(ReadAsk, IgnoresTheReplicaOfAnEarlierRewrite) {
  constexpr auto* kJson = R"({"limits":{"nvidia.com/gpu":0.5},"requests":{"nvidia.com/gpu":"1"}})";
  EXPECT_FALSE(ask_of(kJson));
  EXPECT_EQ(ask_of(kJson, true)->amount, Amount{.hundredths = 50});
}

constexpr Amount kOne{.whole = 1};
constexpr Amount kHalf{.hundredths = 50};
constexpr Share kBytes{.memory = Bytes::from_mib(12288), .percent = 50};

TEST(SharesOf, FollowsFractionsAndAnnotations) {
  struct Case {
    const char* name;
    std::vector<Ask> asks;
    Annotations annotations;
    std::map<std::string, Share> shares;
  };
  const Case cases[] = {
      {"a fraction", {{"a", kHalf}}, {}, {{"a", {{}, 50}}}},
      {"whole ones and none", {{"a", kOne}, {"b", {}}, {"c", Amount{}}}, {}, {}},
      {"bytes for the only one that asks",
       {{"a", kOne}, {"b", {}}},
       {{"tranche.dev/gpu-memory", "12Gi"}, {"tranche.dev/gpu-compute", "50"}},
       {{"a", kBytes}}},
      {"bytes by name",
       {{"a", kOne}, {"b", kOne}},
       {{"tranche.dev/gpu-memory.b", "12Gi"}, {"tranche.dev/gpu-compute.b", "50"}},
       {{"b", kBytes}}},
      {"beside a fraction",
       {{"a", kHalf}, {"b", kOne}},
       {{"tranche.dev/gpu-memory.b", "12Gi"}, {"tranche.dev/gpu-compute.b", "50"}},
       {{"a", {{}, 50}}, {"b", kBytes}}},
      {"both ways, the same",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "12Gi"},
        {"tranche.dev/gpu-compute", "50"},
        {"tranche.dev/gpu-memory.a", "12288Mi"},
        {"tranche.dev/gpu-compute.a", "50"}},
       {{"a", kBytes}}},
      {"for one that is settled",
       {},
       {{"tranche.dev/gpu-memory.done", "12Gi"}, {"tranche.dev/gpu-compute.done", "50"}},
       {}},
      {"nobody asks", {}, {{"tranche.dev/gpu-memory", "12Gi"}}, {}},
      {"another annotation", {{"a", kOne}}, {{"tranche.dev/gpu-memoryx", "12Gi"}}, {}},
  };
  for (const auto& [name, asks, annotations, shares] : cases) {
    SCOPED_TRACE(name);
    const auto read = shares_of(asks, {"done"}, annotations);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, shares);
  }
}

TEST(SharesOf, ReportsWhatIsWrongWithAnAnnotation) {
  struct Case {
    const char* name;
    std::vector<Ask> asks;
    Annotations annotations;
    const char* message;
  };
  const Case cases[] = {
      {"several ask",
       {{"a", kOne}, {"b", kOne}},
       {{"tranche.dev/gpu-memory", "12Gi"}},
       "2 containers ask for a GPU; write it for each that shall have a share, as "
       "tranche.dev/gpu-memory.<container>: a, b"},
      {"no compute",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "12Gi"}},
       "tranche.dev/gpu-memory is there, and tranche.dev/gpu-compute is missing"},
      {"no memory",
       {{"a", kOne}},
       {{"tranche.dev/gpu-compute.a", "50"}},
       "tranche.dev/gpu-compute.a is there, and tranche.dev/gpu-memory.a is missing"},
      {"a container that is not there",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory.x", "1Gi"}},
       "container \"x\" asks for no GPU"},
      {"a fraction beside it",
       {{"a", kHalf}},
       {{"tranche.dev/gpu-memory", "1Gi"}, {"tranche.dev/gpu-compute", "5"}},
       "container \"a\" asks for 0.5 nvidia.com/gpu, and annotation"},
      {"two GPUs",
       {{"a", Amount{.whole = 2}}},
       {{"tranche.dev/gpu-memory", "1Gi"}, {"tranche.dev/gpu-compute", "5"}},
       "asks for 2 nvidia.com/gpu"},
      {"no memory at all",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "0"}, {"tranche.dev/gpu-compute", "5"}},
       "'0' is no share of a GPU's memory"},
      {"no whole Mi",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "12G"}, {"tranche.dev/gpu-compute", "5"}},
       "'12G' is no whole number of Mi; write 11445Mi"},
      {"no bytes",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "half"}, {"tranche.dev/gpu-compute", "5"}},
       "tranche.dev/gpu-memory: 'half' is no quantity"},
      {"more than all compute",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "1Gi"}, {"tranche.dev/gpu-compute", "101"}},
       "'101' is no percentage"},
      {"a percent sign",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "1Gi"}, {"tranche.dev/gpu-compute", "50%"}},
       "'50%' is no percentage"},
      {"both ways, different",
       {{"a", kOne}},
       {{"tranche.dev/gpu-memory", "1Gi"},
        {"tranche.dev/gpu-compute", "50"},
        {"tranche.dev/gpu-memory.a", "2Gi"},
        {"tranche.dev/gpu-compute.a", "50"}},
       "two different shares by annotations"},
  };
  for (const auto& [name, asks, annotations, message] : cases) {
    SCOPED_TRACE(name);
    const auto read = shares_of(asks, {}, annotations);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_THAT(read.error().message(), HasSubstr(message));
  }
}

TEST(Share, IsDescribed) {
  EXPECT_EQ(describe(Share{.memory = {}, .percent = 7}), "0.07 of a GPU");
  EXPECT_EQ(describe(kBytes), "12Gi and 50 % of compute of a GPU");
  EXPECT_EQ(describe(Share{.memory = Bytes::from_mib(1500), .percent = 100}),
            "1500Mi and 100 % of compute of a GPU");
}

}  // namespace
}  // namespace tranche::admission::share_test
