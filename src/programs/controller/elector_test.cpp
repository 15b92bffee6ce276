#include "controller/elector.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/sanitized.h"

namespace tranche::controller::elector_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

const cluster::ObjectKey kKey{"gpu", "tranche-controller"};

class ElectorTest : public testing::Test {
 protected:
  Elector make(const std::string& identity) {
    return {objects_, {.lease = kKey, .identity = identity}, clock_, log_.log()};
  }
  cluster::Lease lease() {
    return cluster::parse_lease(objects_.text(cluster::kLease, kKey)).value();
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
};

TEST_F(ElectorTest, TakesTheEmptyLeaseOfTheChartAndKeepsItsLabels) {
  objects_.put(cluster::kLease, R"({"metadata": {"namespace": "gpu", "name": "tranche-controller",
    "labels": {"app.kubernetes.io/managed-by": "Helm"}}})");
  auto one = make("one");
  EXPECT_FALSE(one.leads());
  one.attempt();
  EXPECT_TRUE(one.leads());
  EXPECT_FALSE(one.lost());
  const auto text = objects_.text(cluster::kLease, kKey);
  EXPECT_EQ(json::parse(text)["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");
  EXPECT_EQ(lease().holder, "one");
  EXPECT_EQ(lease().duration, seconds(15));
  EXPECT_TRUE(lease().renewed);
}

TEST_F(ElectorTest, MakesTheLeaseWhereThereIsNone) {
  auto one = make("one");
  one.attempt();
  EXPECT_TRUE(one.leads());
  EXPECT_EQ(lease().holder, "one");
}

TEST_F(ElectorTest, AnotherWaitsWhileTheLeaseIsRenewed) {
  auto one = make("one");
  auto two = make("two");
  for (int i = 0; i < 30; ++i) {
    one.attempt();
    two.attempt();
    ASSERT_TRUE(one.leads());
    ASSERT_FALSE(two.leads());
    clock_.advance(seconds(2));
  }
  EXPECT_EQ(log_.count("one leads; waiting"), 1);
  EXPECT_EQ(lease().transitions, 0);
}

TEST_F(ElectorTest, AnotherTakesOverWhenTheHolderIsSilent) {
  auto one = make("one");
  auto two = make("two");
  one.attempt();
  two.attempt();
  clock_.advance(milliseconds(10'001));
  EXPECT_TRUE(one.lost()) << "it could not renew";
  two.attempt();
  EXPECT_FALSE(two.leads());
  clock_.advance(milliseconds(4'999));
  two.attempt();
  EXPECT_TRUE(two.leads());
  EXPECT_EQ(lease().transitions, 1);
  one.attempt();
  EXPECT_FALSE(one.leads());
  EXPECT_TRUE(one.lost());
}

TEST_F(ElectorTest, ReleaseLetsAnotherLeadAtOnce) {
  auto one = make("one");
  auto two = make("two");
  one.attempt();
  two.attempt();
  one.release();
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(lease().holder, "");
  two.attempt();
  EXPECT_TRUE(two.leads());
  two.release();
  one.release();
  EXPECT_EQ(lease().holder, "");
}

TEST_F(ElectorTest, ReleaseLeavesAnothersLease) {
  auto one = make("one");
  one.attempt();
  auto text = json::parse(objects_.text(cluster::kLease, kKey));
  text["spec"]["holderIdentity"] = "somebody";
  objects_.put(cluster::kLease, text.dump());
  one.release();
  EXPECT_EQ(lease().holder, "somebody");
}

TEST_F(ElectorTest, FailuresAreLoggedOnceAndLeadershipEndsInTime) {
  auto one = make("one");
  one.attempt();
  objects_.refuse("", cluster::kLease, {Code::kUnavailable, "the API server is away"});
  for (int i = 0; i < 4; ++i) {
    clock_.advance(seconds(2));
    one.attempt();
    EXPECT_TRUE(one.leads()) << i;
  }
  clock_.advance(seconds(2));
  one.attempt();
  EXPECT_FALSE(one.leads());
  EXPECT_TRUE(one.lost());
  EXPECT_EQ(log_.count("the API server is away"), 1);
}

TEST_F(ElectorTest, AMissingRightIsNamed) {
  objects_.refuse("", cluster::kLease, {Code::kPermission, "leases is forbidden"});
  auto one = make("one");
  one.attempt();
  one.attempt();
  EXPECT_FALSE(one.leads());
  EXPECT_EQ(log_.count("gpu/tranche-controller cannot be taken: leases is forbidden"), 1);
}

// In random order: attempts, silences, failing calls and releases.
TEST_F(ElectorTest, TwoNeverLeadAtOnce) {
  std::minstd_rand random(7);  // NOLINT: the same every time
  auto one = make("one");
  auto two = make("two");
  int led = 0;
  int changes = 0;
  bool one_led = false;
  constexpr int kSteps = test::kSanitized ? 2'000 : 20'000;
  for (int i = 0; i < kSteps; ++i) {
    auto& who = random() % 2 == 0 ? one : two;
    const auto what = random() % 100;
    if (what < 60) {
      who.attempt();
    } else if (what < 90) {
      clock_.advance(milliseconds(random() % 4000));
    } else if (what < 92) {
      clock_.advance(seconds(random() % 40));
    } else if (what < 93) {
      who.release();
    } else {
      const char* const verbs[] = {"get", "patch", "create", ""};
      objects_.refuse(verbs[random() % 4], cluster::kLease, {Code::kTimeout, "no answer"},
                      static_cast<int>(1 + random() % 5));
    }
    ASSERT_FALSE(one.leads() && two.leads()) << "step " << i;
    led += one.leads() || two.leads() ? 1 : 0;
    if (one.leads() && !one_led) ++changes;
    if (one.leads()) one_led = true;
    if (two.leads()) one_led = false;
  }
  EXPECT_GT(led, kSteps / 4) << "somebody leads most of the time";
  EXPECT_GT(changes, kSteps / 2'000) << "and they take turns";
}

}  // namespace
}  // namespace tranche::controller::elector_test
