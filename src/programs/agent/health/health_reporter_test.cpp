#include "agent/health/health_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/fake_pod_resources.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::health_reporter_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class HealthReporterTest : public testing::Test {
 protected:
  HealthReporterTest() {
    objects_.put(cluster::kPod, R"({"metadata":{"name":"p","namespace":"shop"},
                                    "spec":{"nodeName":"n1"}})");
    kubelet_.hold({{"shop", "p", "main", "nvidia.com/gpu", {"GPU-0"}}});
    machine_.gpus.push_back({.index = 0, .uuid = {"GPU-0"}});
    book_.follow({}, machine_, true);
    EXPECT_TRUE(test::eventually([&] { return pods_.all().has_value(); }));
  }
  void fall() {
    reporter_.follow(
        {{"GPU-0", {.name = "GPU 0 (GPU-0)", .reason = "XID 79", .uuids = {"GPU-0"}}}});
  }
  void look(std::chrono::nanoseconds after = seconds(2)) {
    clock_.advance(after);
    reporter_.look({});
  }
  std::vector<int> told() {
    std::vector<int> counts;
    const auto events = objects_.list(cluster::kEvent, {.ns = "shop"});
    for (const auto& item : events->items) {
      const auto event = json::parse(item.json);
      counts.push_back(event.contains("series") ? event["series"]["count"].get<int>() : 1);
    }
    return counts;
  }

  static constexpr Backoff kQuick{milliseconds(1), milliseconds(4)};
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  test::FakePodResources kubelet_;
  HolderAnswers holders_{kubelet_, clock_};
  gpu::Machine machine_;
  Book book_{clock_};
  PodsOfNode pods_{objects_, "n1", log_.log(), kQuick};
  HealthReporter reporter_{{.objects = objects_,
                            .holders = holders_,
                            .book = book_,
                            .pods = &pods_,
                            .node = "n1",
                            .clock = clock_,
                            .log = log_.log()}};
};

TEST_F(HealthReporterTest, ThePodThatHoldsTheGpuIsTold) {
  look();
  EXPECT_EQ(kubelet_.asked(), 0) << "nothing has fallen";
  fall();
  look();
  EXPECT_THAT(told(), ElementsAre(1));
}

TEST_F(HealthReporterTest, PodsAreToldWhenKubeletAnswersThoughTheGpuHasRecovered) {
  kubelet_.go_away(true);
  fall();
  look();
  reporter_.follow({});
  look();
  EXPECT_THAT(told(), IsEmpty());
  kubelet_.go_away(false);
  look();
  EXPECT_THAT(told(), ElementsAre(1));
  const int asked = kubelet_.asked();
  look();
  EXPECT_EQ(kubelet_.asked(), asked) << "once is enough";
}

TEST_F(HealthReporterTest, WithoutAnAnswerWhatStandsGoesOnStanding) {
  fall();
  look();
  kubelet_.go_away(true);
  for (int i = 0; i < 11; ++i) look(minutes(1));
  kubelet_.hold({});
  for (int i = 0; i < 20; ++i) look(minutes(1));
  EXPECT_THAT(told(), ElementsAre(2)) << "said again after half an hour, as what stands is";
}

// The Pod has its GPU through a claim, so kubelet's list of devices does not name it.
TEST_F(HealthReporterTest, ThePodOfAClaimIsTold) {
  kubelet_.hold({});
  objects_.put(cluster::kPod, R"({"metadata":{"name":"q","namespace":"shop"},
      "spec":{"nodeName":"n1","resourceClaims":[{"name":"gpu","resourceClaimName":"half"}],
              "containers":[{"name":"main","resources":{"claims":[{"name":"gpu"}]}}]},
      "status":{"phase":"Running"}})");
  dra::PreparedClaim half{.ns = "shop", .name = "half", .uid = "u1", .boot = "b"};
  half.devices = {{.request = "gpu", .pool = "p", .device = "gpu-0", .uuid = "GPU-0"}};
  book_.restore({{"u1", half}}, machine_);
  ASSERT_TRUE(test::eventually([&] { return pods_.all()->size() == 2; }));
  fall();
  look();
  EXPECT_THAT(told(), ElementsAre(1));
  const auto events = objects_.list(cluster::kEvent, {.ns = "shop"});
  const auto event = json::parse(events->items.at(0).json);
  EXPECT_EQ(event["regarding"]["name"], "q");
  EXPECT_EQ(event["reason"], "GpuUnhealthy");
}

}  // namespace
}  // namespace tranche::agent::health_reporter_test
