#include "controller/policy_status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tranche::controller::policy_status_test {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr std::chrono::system_clock::time_point kNow{seconds(1'767'225'600)};  // 2026-01-01
const Condition kApplied{kAppliedCondition, true, "ConfigFollowed", "fine"};
const Condition kRefused{kAppliedCondition, false, "ConfigMapMissing", "create it"};

json object(const json& status = nullptr) {
  json value = {{"metadata", {{"name", "p"}, {"generation", 4}, {"resourceVersion", "9"}}},
                {"spec", {{"mig", {{"strategy", "mixed"}}}}}};
  if (!status.is_null()) value["status"] = status;
  return value;
}

json after(const json& before, const PolicyStatus& status, seconds later = seconds(0)) {
  const auto text = with_status(before.dump(), status, kNow + later);
  EXPECT_TRUE(text && *text) << "something changes";
  return text && *text ? json::parse(**text) : json();
}

TEST(PolicyStatus, IsWrittenIntoAnEmptyOne) {
  const auto written = after(object(), status_of({kApplied}));
  EXPECT_EQ(written["status"], json::parse(R"({"state": "ready", "conditions": [
    {"type": "TrancheApplied", "status": "True", "reason": "ConfigFollowed", "message": "fine",
     "observedGeneration": 4, "lastTransitionTime": "2026-01-01T00:00:00Z"}]})"));
  EXPECT_EQ(written["metadata"]["resourceVersion"], "9");
  EXPECT_EQ(with_status(written.dump(), status_of({kApplied}), kNow + seconds(9)).value(),
            std::nullopt)
      << "it says so already";
}

TEST(PolicyStatus, TransitionTimeChangesWithTheStatusAlone) {
  const auto first = after(object(), status_of({kApplied}));
  auto other = kApplied;
  other.message = "fine too";
  const auto second = after(first, status_of({other}), seconds(5));
  EXPECT_EQ(second["status"]["conditions"][0]["message"], "fine too");
  EXPECT_EQ(second["status"]["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
  const auto third = after(second, status_of({kRefused}), seconds(7));
  EXPECT_EQ(third["status"]["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:07Z");
  EXPECT_EQ(third["status"]["state"], "notReady") << "we are the only ones who report here";
}

TEST(PolicyStatus, OthersConditionsAndStateStay) {
  const json theirs = {{"type", "Ready"}, {"status", "True"}, {"reason", "Reconciled"}};
  const auto written = after(object({{"state", "ready"},
                                     {"namespace", "gpu-operator"},
                                     {"conditions", json::array({theirs})}}),
                             status_of({kRefused}));
  EXPECT_EQ(written["status"]["state"], "ready");
  EXPECT_EQ(written["status"]["namespace"], "gpu-operator");
  ASSERT_EQ(written["status"]["conditions"].size(), 2U);
  EXPECT_EQ(written["status"]["conditions"][0], theirs);
}

// Of an operator older than conditions: our words must not alternate with its own.
TEST(PolicyStatus, StateOfAnOldOperatorStays) {
  const auto written = after(object({{"state", "ready"}}), status_of({kRefused}));
  EXPECT_EQ(written["status"]["state"], "ready");
}

TEST(PolicyStatus, ANonObjectIsRefused) {
  EXPECT_FALSE(with_status("[]", {}, kNow));
  EXPECT_FALSE(with_status("{", {}, kNow));
}

TEST(PolicyStatus, AppliedIsReadBack) {
  EXPECT_EQ(applied_of(object().dump()), std::nullopt);
  EXPECT_EQ(applied_of(after(object(), status_of({kRefused})).dump()), kRefused);
}

}  // namespace
}  // namespace tranche::controller::policy_status_test
