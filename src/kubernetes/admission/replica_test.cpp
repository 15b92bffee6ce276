#include "admission/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::admission::replica_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Replica, IsTheSmallestSufficientOne) {
  const Fleet fleet{.dra_models = {},
                    .replicas = {{"nvidia.com/gpu.big", 500, true},
                                 {"nvidia.com/gpu", 250, false},
                                 {"nvidia.com/gpu.held", 250, true},
                                 {"nvidia.com/gpu.third", 333, true}}};
  struct Case {
    const char* name;
    int percent;
    const char* resource;
    std::vector<std::string> warnings;
  };
  const Case cases[] = {
      {"exact, and held to it", 25, "nvidia.com/gpu.held", {}},
      {"a third",
       33,
       "nvidia.com/gpu.third",
       {"container \"c\" asks for 0.33 of a GPU and gets more: one nvidia.com/gpu.third, which is "
        "0.333 of a GPU"}},
      {"the next larger",
       34,
       "nvidia.com/gpu.big",
       {"container \"c\" asks for 0.34 of a GPU and gets more: one nvidia.com/gpu.big, which is "
        "0.5 of a GPU"}},
  };
  for (const auto& [name, percent, resource, warnings] : cases) {
    SCOPED_TRACE(name);
    const auto choice = choose_replica("c", {.memory = {}, .percent = percent}, fleet);
    ASSERT_TRUE(choice) << choice.error().message();
    EXPECT_EQ(choice->resource, resource);
    EXPECT_EQ(choice->warnings, warnings);
  }
}

TEST(Replica, WarnsThatThePartIsNotEnforced) {
  const Fleet fleet{.dra_models = {}, .replicas = {{"nvidia.com/gpu", 500, false}}};
  EXPECT_THAT(choose_replica("c", {.memory = {}, .percent = 50}, fleet)->warnings,
              ElementsAre(HasSubstr("nothing holds containers with nvidia.com/gpu to their part")));
}

TEST(Replica, RefusesWithTheReasonAndTheCommand) {
  const Fleet small{.dra_models = {}, .replicas = {{"nvidia.com/gpu.shared", 250, true}}};
  struct Case {
    const char* name;
    Fleet fleet;
    Share share;
    const char* message;
  };
  const Case cases[] = {
      {"nothing at all",
       {},
       {.memory = {}, .percent = 50},
       "no node gives parts of GPUs; put a node into mode dra: kubectl label node NODE "
       "tranche.dev/mode=dra; or, where nodes come later, name their models in the chart's "
       "fractions.models"},
      {"all are smaller",
       small,
       {.memory = {}, .percent = 26},
       "the largest part of a GPU that nodes offer is 0.25 (nvidia.com/gpu.shared); put a node "
       "into mode dra: kubectl label node NODE tranche.dev/mode=dra; or lower `replicas`"},
      {"bytes",
       small,
       {.memory = Bytes::from_mib(1), .percent = 5},
       "no node is in mode dra, and replicas are no bytes of memory; put a node into mode dra"},
      {"nodes in mode dra whose feature gates are off",
       {.whole_alone = true},
       {.memory = {}, .percent = 50},
       "container \"c\" asks for 0.5 of a GPU, and nodes in mode dra give whole GPUs alone; "
       "kubectl "
       "get events --field-selector reason=FeatureGatesOff names the feature gates"},
      {"the same, with replicas that are smaller",
       {.replicas = {{"nvidia.com/gpu.shared", 250, true}}, .whole_alone = true},
       {.memory = {}, .percent = 50},
       "nodes in mode dra give whole GPUs alone, and the largest part of a GPU that nodes offer is "
       "0.25 (nvidia.com/gpu.shared); kubectl get events"},
  };
  for (const auto& [name, fleet, share, message] : cases) {
    SCOPED_TRACE(name);
    const auto choice = choose_replica("c", share, fleet);
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(choice.error().message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace tranche::admission::replica_test
