#include "lab/kubelet/choose.h"

#include <gtest/gtest.h>

namespace tranche::lab::choose_test {
namespace {

struct Case {
  const char* name;
  ChoiceInput input;
  Ids preferred;
  // Ids, or the error.
  Ids expected = {};
  const char* error = "";
};

class Choose : public testing::TestWithParam<Case> {};

TEST_P(Choose, FollowsKubelet) {
  const Case& c = GetParam();
  const auto candidates = find_candidates(c.input);
  if (*c.error != '\0') {
    ASSERT_FALSE(candidates);
    EXPECT_EQ(candidates.error().what, c.error);
    return;
  }
  ASSERT_TRUE(candidates) << candidates.error().what;
  EXPECT_EQ(choose(*candidates, c.preferred), c.expected);
}

ChoiceInput wish(int count, IdSet healthy, IdSet held = {}, IdSet reusable = {}) {
  return {.resource = "example.com/gpu",
          .count = count,
          .healthy = std::move(healthy),
          .held = std::move(held),
          .reusable = std::move(reusable)};
}

INSTANTIATE_TEST_SUITE_P(
    Table, Choose,
    testing::Values(
        Case{"lowest_ids", wish(2, {"c", "a", "b"}), {}, {"a", "b"}},
        Case{"preferred_first", wish(2, {"a", "b", "c"}), {"c"}, {"a", "c"}},
        Case{"preferred_beyond_count", wish(1, {"a", "b", "c"}), {"c", "b"}, {"c"}},
        Case{"preferred_held_is_ignored", wish(1, {"a", "b"}, {"b"}), {"b"}, {"a"}},
        Case{"preferred_unknown_is_ignored", wish(1, {"a"}), {"z"}, {"a"}},
        Case{"reuses_init_containers_devices",
             wish(2, {"a", "b", "c"}, {"c"}, {"c"}),
             {},
             {"a", "c"}},
        Case{"reuse_alone_is_enough", wish(1, {"a", "b"}, {"a", "b"}, {"b"}), {"a"}, {"b"}},
        Case{"too_few",
             wish(2, {"a", "b"}, {"a"}),
             {},
             {},
             "requested number of devices unavailable for example.com/gpu. Requested: 2, "
             "Available: 1"},
        Case{"too_few_after_reuse",
             wish(2, {"a"}, {"a"}, {"a"}),
             {},
             {},
             "requested number of devices unavailable for example.com/gpu. Requested: 1, "
             "Available: 0"},
        Case{"none_healthy",
             wish(1, {}),
             {},
             {},
             "no healthy devices present; cannot allocate unhealthy devices example.com/gpu"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace tranche::lab::choose_test
