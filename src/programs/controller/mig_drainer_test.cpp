#include "controller/mig_drainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::controller::mig_drainer_test {
namespace {

using cluster::MigChange;
using cluster::MigDrain;
using cluster::MigPhase;
using nlohmann::json;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kSmall = "nvidia.com/mig-1g.10gb";

class MigDrainerTest : public testing::Test {
 protected:
  void start(std::function<milliseconds()> time_left = {}) {
    drainer_.emplace(
        WorkerContext{.objects = objects_,
                      .clock = clock_,
                      .log = log_.log(),
                      .watches = watches_,
                      .instance = "c-1",
                      .time_left = std::move(time_left),
                      .backoff = {.first = milliseconds(1), .longest = milliseconds(4)}},
        MigDrainer::Options{.ns = "tranche", .look = milliseconds(1)});
  }
  void stop() { drainer_.reset(); }

  // gpu-1 with 4 GPUs and, unless `alone`, gpu-2 with as many.
  void put_nodes(bool alone = false) {
    for (const auto* name : {"gpu-1", "gpu-2"}) {
      if (alone && name == std::string("gpu-2")) continue;
      const json object = {{"metadata", {{"name", name}}},
                           {"status",
                            {{"allocatable", {{kGpu, "4"}}},
                             {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
      objects_.put(cluster::kNode, object.dump());
    }
  }
  MigChange change(MigPhase phase, std::vector<cluster::ObjectKey> pods = {}) {
    return {.id = "c-1",
            .layout = "all-1g.10gb",
            .phase = phase,
            .written_at = clock_.wall_now(),
            .deadline = clock_.wall_now() + std::chrono::minutes(5),
            .before = {{kGpu, 4}},
            .after = {{kSmall, 28}},
            .pods = std::move(pods)};
  }
  // Like the agent: label and annotation in one write.
  void say(const MigChange& change) { say(cluster::encode(change)); }
  void say(const std::string& text) {
    patch({{"metadata",
            {{"labels", {{cluster::kMigChangeLabel, cluster::kMigChangeLabelValue}}},
             {"annotations", {{cluster::kMigChangeAnnotation, text}}}}}});
  }
  void close() {
    patch({{"metadata",
            {{"labels", {{cluster::kMigChangeLabel, nullptr}}},
             {"annotations", {{cluster::kMigChangeAnnotation, nullptr}}}}}});
  }
  // What kubelet reports to the API server some seconds after the hardware changed.
  void offer(const std::map<std::string, std::string>& allocatable) {
    const json status = {{"status", {{"allocatable", allocatable}}}};
    ASSERT_TRUE(objects_.patch(
        cluster::kNode, {.name = "gpu-1"},
        {.json = status.dump(), .subresource = "status", .field_manager = "kubelet"}));
  }
  // Until the agent has finished: kubelet has not reported yet.
  void go_through(MigChange finished) {
    say(change(MigPhase::kAsking));
    ASSERT_TRUE(accepted());
    say(change(MigPhase::kChanging));
    ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
    finished.phase = MigPhase::kFinished;
    say(finished);
    let_it_look();
  }
  bool is_given_back() {
    return test::eventually([&] { return !is_cordoned() && !is_marked(); });
  }
  void cordon(bool wanted) { patch({{"spec", {{"unschedulable", wanted}}}}); }
  void patch(const json& change) {
    ASSERT_TRUE(objects_.patch(cluster::kNode, {.name = "gpu-1"},
                               {.json = change.dump(), .field_manager = "somebody"}));
  }
  std::string put_pod(const std::string& ns, const std::string& name, const std::string& node,
                      const std::string& more = "{}") {
    auto pod = json::parse(more);
    pod["metadata"]["name"] = name;
    pod["metadata"]["namespace"] = ns;
    pod["spec"]["nodeName"] = node;
    return objects_.put(cluster::kPod, pod.dump()).uid;
  }

  json node() { return json::parse(objects_.text(cluster::kNode, {.name = "gpu-1"})); }
  bool is_cordoned() { return node().value("/spec/unschedulable"_json_pointer, false); }
  bool is_marked() {
    return node()["metadata"]["annotations"].contains(cluster::kMigCordonedAnnotation);
  }
  std::optional<MigDrain> answer() {
    const auto annotations = node()["metadata"].value("annotations", json::object());
    if (!annotations.contains(cluster::kMigDrainAnnotation)) return std::nullopt;
    const auto read =
        cluster::decode_mig_drain(annotations[cluster::kMigDrainAnnotation].get<std::string>());
    EXPECT_TRUE(read) << read.error().message();
    return read ? std::optional(*read) : std::nullopt;
  }
  // Waits until the answer satisfies `as_wanted`.
  bool answered(const std::function<bool(const MigDrain&)>& as_wanted,
                const std::string& id = "c-1") {
    return test::eventually([&] {
      const auto now = answer();
      return now && now->id == id && as_wanted(*now);
    });
  }
  bool accepted() {
    return answered([](const auto& now) { return now.answer == MigDrain::Answer::kAccepted; });
  }
  bool is_there(const std::string& ns, const std::string& name) {
    return !objects_.text(cluster::kPod, {.ns = ns, .name = name}).empty();
  }
  std::vector<json> events(const std::string& reason) {
    std::vector<json> found;
    const auto list = objects_.list(cluster::kEvent, {});
    for (const auto& item : list->items) {
      auto event = json::parse(item.json);
      if (event["reason"] == reason) found.push_back(std::move(event));
    }
    return found;
  }
  bool told(const std::string& reason) {
    return test::eventually([&] { return !events(reason).empty(); });
  }
  std::ptrdiff_t calls(const std::string& beginning) { return objects_.count_calls(beginning); }
  // Waits for two more visits: what the drainer would do it has then done.
  void let_it_look() {
    const auto before = calls("get nodes gpu-1");
    for (int i = 1; i <= 2; ++i) {
      patch({{"metadata", {{"annotations", {{"look", std::to_string(++looks_)}}}}}});
      ASSERT_TRUE(test::eventually([&] { return calls("get nodes gpu-1") >= before + i; }));
    }
  }

  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  SharedWatches watches_{
      objects_, log_.log(), {.first = milliseconds(1), .longest = milliseconds(4)}};
  std::optional<MigDrainer> drainer_;
  int looks_ = 0;
};

TEST_F(MigDrainerTest, AChangeGoesFromAnnouncementToUncordon) {
  put_nodes();
  put_pod("shop", "train", "gpu-1");
  put_pod("shop", "neighbour", "gpu-1");
  start();
  say(change(MigPhase::kAsking, {{"shop", "train"}}));
  ASSERT_TRUE(accepted());
  EXPECT_FALSE(is_cordoned());
  EXPECT_THAT(events("MigChangeAnnounced").at(0)["note"].get<std::string>(),
              HasSubstr("nvidia.com/gpu 4 -> 0"));

  say(change(MigPhase::kDraining, {{"shop", "train"}}));
  ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "train"); }));
  ASSERT_TRUE(answered([](const auto& now) { return now.cordoned && now.blocked.empty(); }));
  EXPECT_TRUE(is_cordoned() && is_marked());
  EXPECT_TRUE(is_there("shop", "neighbour"));
  ASSERT_TRUE(told("MigEviction"));

  say(change(MigPhase::kChanging));
  let_it_look();
  EXPECT_TRUE(is_cordoned());

  offer({{kGpu, "0"}, {kSmall, "28"}});
  say(change(MigPhase::kFinished));
  ASSERT_TRUE(answered([](const auto& now) { return now.uncordoned && !now.cordoned; }));
  EXPECT_FALSE(is_cordoned() || is_marked());
  ASSERT_TRUE(told("MigUncordoned"));

  close();
  EXPECT_TRUE(test::eventually([&] { return !answer(); }));
}

TEST_F(MigDrainerTest, AnOutageIsRefusedUntilAccepted) {
  put_nodes(true);
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(answered([](const auto& now) { return now.answer == MigDrain::Answer::kRefused; }));
  EXPECT_THAT(answer()->outages, ElementsAre(kGpu));
  EXPECT_THAT(answer()->reason,
              HasSubstr("kubectl annotate node gpu-1 tranche.dev/mig-accept-outage=all-1g.10gb"));
  ASSERT_TRUE(told("MigChangeRefused"));
  // For another layout only.
  patch({{"metadata", {{"annotations", {{cluster::kMigAcceptOutageAnnotation, "all-2g.20gb"}}}}}});
  let_it_look();
  EXPECT_EQ(answer()->answer, MigDrain::Answer::kRefused);
  EXPECT_EQ(events("MigChangeRefused").size(), 1U);
  patch({{"metadata", {{"annotations", {{cluster::kMigAcceptOutageAnnotation, "all-1g.10gb"}}}}}});
  ASSERT_TRUE(accepted());
  EXPECT_THAT(answer()->outages, ElementsAre(kGpu));
}

TEST_F(MigDrainerTest, WithoutLeadershipNobodyElseIsEvicted) {
  put_nodes();
  std::vector<cluster::ObjectKey> pods;
  for (const auto* name : {"a", "b", "c", "d"}) {
    put_pod("shop", name, "gpu-1");
    pods.push_back({"shop", name});
  }
  const auto left = [this] { return milliseconds(calls("evict") == 0 ? 20'000 : 0); };
  start(left);
  say(change(MigPhase::kAsking, pods));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining, pods));
  ASSERT_TRUE(test::eventually([&] { return log_.count("does not lead") >= 1; }));
  EXPECT_EQ(calls("evict"), 1);
  stop();
  start();
  EXPECT_TRUE(test::eventually([&] { return calls("evict") == 4; }));
}

TEST_F(MigDrainerTest, AnAgentsFastClockIsLoggedOnce) {
  put_nodes();
  auto asked = change(MigPhase::kAsking);
  asked.written_at += std::chrono::minutes(10);
  start();
  say(asked);
  ASSERT_TRUE(test::eventually([&] { return log_.count("the clocks of the node and of") == 1; }));
  let_it_look();
  EXPECT_EQ(log_.count("the clocks of the node and of"), 1);
  EXPECT_FALSE(answer());
}

// For example, because a webhook holds up the deletion.
TEST_F(MigDrainerTest, AHangingEvictionDelaysNoOtherPod) {
  put_nodes();
  std::vector<cluster::ObjectKey> pods;
  for (const auto* name : {"a", "b"}) {
    put_pod("shop", name, "gpu-1");
    pods.push_back({"shop", name});
  }
  objects_.refuse("evict", cluster::kPod, {Code::kTimeout, "no answer in time", ""}, 1);
  // The first eviction takes half a minute.
  start([this, hung = std::make_shared<std::atomic<bool>>(false)] {
    if (calls("evict") == 1 && !hung->exchange(true)) clock_.advance(std::chrono::seconds(30));
    return milliseconds(20'000);
  });
  auto draining = change(MigPhase::kDraining, pods);
  draining.deadline += std::chrono::hours(1);
  say(change(MigPhase::kAsking, pods));
  ASSERT_TRUE(accepted());
  say(draining);
  ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "b"); }));
  EXPECT_TRUE(test::eventually([&] { return !is_there("shop", "a"); }));
  const auto all = objects_.calls();
  std::vector<std::string> evicted;
  for (const auto& call : all) {
    if (call.starts_with("evict")) evicted.push_back(call.substr(call.rfind('/') + 1));
  }
  EXPECT_THAT(evicted, ElementsAre("a", "b", "a"));
}

TEST_F(MigDrainerTest, AnAnswerIsReportedOnceThoughWrittenLater) {
  put_nodes(true);
  say(change(MigPhase::kAsking));
  objects_.refuse("patch", cluster::kNode, {Code::kFailedPrecondition, "injected", ""}, 3);
  start();
  ASSERT_TRUE(test::eventually([&] {
    clock_.advance(std::chrono::milliseconds(1));
    return answer() && answer()->answer == MigDrain::Answer::kRefused;
  }));
  ASSERT_TRUE(told("MigChangeRefused"));
  EXPECT_EQ(events("MigChangeRefused").size(), 1U);
}

TEST_F(MigDrainerTest, ARefusedChangeIsNeverDrained) {
  put_nodes(true);
  put_pod("shop", "train", "gpu-1");
  start();
  say(change(MigPhase::kDraining, {{"shop", "train"}}));
  ASSERT_TRUE(answered([](const auto& now) { return now.answer == MigDrain::Answer::kRefused; }));
  let_it_look();
  EXPECT_FALSE(is_cordoned());
  EXPECT_EQ(calls("evict"), 0);
}

TEST_F(MigDrainerTest, PodsWithoutAPlaceAreReported) {
  put_nodes();
  put_pod("shop", "big", "gpu-1",
          R"({"metadata":{"ownerReferences":[{"kind":"ReplicaSet","name":"r","controller":true}]},
              "spec":{"containers":[{"name":"m","resources":{"limits":{"nvidia.com/gpu":"8"}}}]}})");
  start();
  say(change(MigPhase::kAsking, {{"shop", "big"}}));
  ASSERT_TRUE(accepted());
  EXPECT_THAT(answer()->pending, ElementsAre("shop/big (nvidia.com/gpu: 8)"));
}

TEST_F(MigDrainerTest, AnAdministratorsCordonStays) {
  put_nodes();
  cordon(true);
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining));
  ASSERT_TRUE(answered([](const auto& now) { return now.cordoned; }));
  EXPECT_FALSE(is_marked());
  say(change(MigPhase::kFinished));
  ASSERT_TRUE(answered([](const auto& now) { return now.uncordoned; }));
  EXPECT_TRUE(is_cordoned());
  EXPECT_TRUE(answer()->cordoned);
}

TEST_F(MigDrainerTest, AnUncordonDuringTheChangeIsUndone) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kChanging));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  cordon(false);
  EXPECT_TRUE(test::eventually([&] { return is_cordoned() && is_marked(); }));
}

TEST_F(MigDrainerTest, ADisruptionBudgetIsWaitedForAndReportedOnce) {
  put_nodes();
  put_pod("shop", "train", "gpu-1");
  const auto refuse = [&](const std::string& why) {
    objects_.recover();
    objects_.refuse("evict", cluster::kPod, {Code::kUnavailable, why, ""});
  };
  refuse("PodDisruptionBudget shop/web allows no eviction now: it needs 2 healthy pods and has 2");
  start();
  say(change(MigPhase::kAsking, {{"shop", "train"}}));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining, {{"shop", "train"}}));
  ASSERT_TRUE(answered([](const auto& now) { return now.blocked.size() == 1; }));
  EXPECT_EQ(answer()->blocked[0].pod, (cluster::ObjectKey{"shop", "train"}));
  EXPECT_THAT(answer()->blocked[0].why, HasSubstr("PodDisruptionBudget shop/web"));
  const auto since = clock_.wall_now();
  EXPECT_EQ(answer()->blocked[0].since, since);
  ASSERT_TRUE(test::eventually([&] { return calls("evict") >= 3; }));
  // Another controller continues, and does not report it again.
  stop();
  start();
  const auto before = calls("evict");
  ASSERT_TRUE(test::eventually([&] { return calls("evict") >= before + 2; }));
  clock_.advance(std::chrono::seconds(40));
  refuse("PodDisruptionBudget shop/web allows no eviction now: it needs 2 healthy pods and has 1");
  ASSERT_TRUE(answered([](const auto& now) { return now.blocked[0].why.ends_with("has 1"); }));
  EXPECT_EQ(answer()->blocked[0].since, since) << "it is the same budget";
  EXPECT_THAT(events("MigEvictionBlocked")[0]["note"].get<std::string>(),
              HasSubstr("; it is tried again until "));
  EXPECT_EQ(events("MigEvictionBlocked").size(), 1U);
  objects_.recover();
  ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "train"); }));
  EXPECT_TRUE(answered([](const auto& now) { return now.blocked.empty(); }));
}

TEST_F(MigDrainerTest, ProtectedPodsStayAndAreNamed) {
  put_nodes();
  put_pod("kube-system", "dns", "gpu-1");
  put_pod("tranche", "agent", "gpu-1");
  put_pod("network", "cni", "gpu-1", R"({"spec":{"priorityClassName":"system-node-critical"}})");
  put_pod("shop", "static", "gpu-1",
          R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}})");
  put_pod(
      "shop", "daemon", "gpu-1",
      R"({"metadata":{"ownerReferences":[{"kind":"DaemonSet","name":"d","controller":true}]}})");
  const std::vector<cluster::ObjectKey> all = {{"kube-system", "dns"},
                                               {"tranche", "agent"},
                                               {"network", "cni"},
                                               {"shop", "static"},
                                               {"shop", "daemon"}};
  start();
  say(change(MigPhase::kAsking, all));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining, all));
  ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "daemon"); }));
  ASSERT_TRUE(answered([](const auto& now) { return now.blocked.size() == 4; }));
  let_it_look();
  EXPECT_EQ(calls("evict"), 1);
  EXPECT_EQ(events("MigEvictionRefused").size(), 4U);
}

TEST_F(MigDrainerTest, APodThatDoesNotStopIsNamedAndEvictedOnce) {
  put_nodes();
  put_pod("shop", "slow", "gpu-1", R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  start();
  say(change(MigPhase::kAsking, {{"shop", "slow"}}));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining, {{"shop", "slow"}}));
  ASSERT_TRUE(answered([](const auto& now) { return now.blocked.size() == 1; }));
  EXPECT_EQ(answer()->blocked[0].why, "it is ending");
  EXPECT_EQ(calls("evict"), 0);
}

TEST_F(MigDrainerTest, PodsOfOtherNodesAndEndedPodsAreNotTouched) {
  put_nodes();
  put_pod("shop", "elsewhere", "gpu-2");
  put_pod("shop", "ended", "gpu-1", R"({"status":{"phase":"Succeeded"}})");
  put_pod("shop", "last", "gpu-1");
  const std::vector<cluster::ObjectKey> all = {
      {"shop", "elsewhere"}, {"shop", "ended"}, {"shop", "nobody"}, {"shop", "last"}};
  start();
  say(change(MigPhase::kAsking, all));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining, all));
  ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "last"); }));
  ASSERT_TRUE(answered([](const auto& now) { return now.cordoned && now.blocked.empty(); }));
  EXPECT_EQ(calls("evict"), 1);
  EXPECT_TRUE(is_there("shop", "elsewhere"));
}

TEST_F(MigDrainerTest, AfterTheDeadlineNobodyIsEvicted) {
  put_nodes();
  put_pod("shop", "train", "gpu-1");
  start();
  say(change(MigPhase::kAsking, {{"shop", "train"}}));
  ASSERT_TRUE(accepted());
  auto late = change(MigPhase::kDraining, {{"shop", "train"}});
  late.deadline = clock_.wall_now() - std::chrono::seconds(1);
  say(late);
  ASSERT_TRUE(answered([](const auto& now) { return now.blocked.size() == 1; }));
  EXPECT_THAT(answer()->blocked[0].why, HasSubstr("deadline"));
  EXPECT_EQ(calls("evict"), 0);
}

TEST_F(MigDrainerTest, TheCordonOfASilentAgentStaysAndIsReportedOnce) {
  put_nodes();
  put_pod("shop", "train", "gpu-1");
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  auto last = change(MigPhase::kDraining, {{"shop", "train"}});
  clock_.advance(MigChange::kValid + std::chrono::seconds(1));
  say(last);
  ASSERT_TRUE(told("MigAgentSilent"));
  let_it_look();
  stop();
  start();
  let_it_look();
  EXPECT_EQ(events("MigAgentSilent").size(), 1U);
  EXPECT_TRUE(is_cordoned() && is_marked());
  EXPECT_TRUE(is_there("shop", "train"));
  // The agent comes back.
  offer({{kGpu, "0"}, {kSmall, "28"}});
  say(change(MigPhase::kFinished));
  EXPECT_TRUE(test::eventually([&] { return !is_cordoned(); }));
}

TEST_F(MigDrainerTest, AnOldFinishedChangeIsUncordoned) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kChanging));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  stop();
  offer({{kGpu, "0"}, {kSmall, "28"}});
  say(change(MigPhase::kFinished));
  clock_.advance(std::chrono::hours(24));
  start();
  EXPECT_TRUE(answered([](const auto& now) { return now.uncordoned; }));
  EXPECT_FALSE(is_cordoned());
}

// Otherwise the scheduler binds Pods to GPUs that are gone, and kubelet rejects them.
TEST_F(MigDrainerTest, TheCordonStaysWhileTheNodeOffersTooMuch) {
  put_nodes();
  start();
  go_through(change(MigPhase::kFinished));
  EXPECT_TRUE(is_cordoned() && is_marked());
  EXPECT_TRUE(answer()->cordoned && !answer()->uncordoned);
  EXPECT_THAT(events("MigUncordoned"), IsEmpty());
  offer({{kGpu, "0"}, {kSmall, "28"}});
  EXPECT_TRUE(is_given_back());
  EXPECT_TRUE(told("MigUncordoned"));
}

TEST_F(MigDrainerTest, ANodeThatOffersTooLittleIsUncordonedAtOnce) {
  put_nodes();
  start();
  offer({{kGpu, "0"}});
  go_through(change(MigPhase::kFinished));
  EXPECT_TRUE(is_given_back());
}

TEST_F(MigDrainerTest, AfterAnUndoTheNodeIsComparedWithTheOldLayout) {
  put_nodes();
  start();
  offer({{kGpu, "0"}, {kSmall, "28"}});
  auto undone = change(MigPhase::kFinished);
  undone.failed = true;
  go_through(undone);
  EXPECT_TRUE(is_cordoned());
  offer({{kGpu, "4"}, {kSmall, "0"}});
  EXPECT_TRUE(is_given_back());
}

TEST_F(MigDrainerTest, ASilentKubeletDoesNotKeepTheNodeCordoned) {
  put_nodes();
  start();
  go_through(change(MigPhase::kFinished));
  clock_.advance(std::chrono::seconds(29));
  let_it_look();
  EXPECT_TRUE(is_cordoned());
  clock_.advance(std::chrono::seconds(2));
  EXPECT_TRUE(is_given_back());
}

TEST_F(MigDrainerTest, AnUncordonAfterTheChangeStays) {
  put_nodes();
  start();
  go_through(change(MigPhase::kFinished));
  cordon(false);
  EXPECT_TRUE(is_given_back());
}

TEST_F(MigDrainerTest, RemovingTheLabelRemovesTheCordon) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  close();
  ASSERT_TRUE(test::eventually([&] { return !is_cordoned() && !is_marked() && !answer(); }));
  EXPECT_TRUE(told("MigCordonDropped"));
}

TEST_F(MigDrainerTest, ALabelRemovedWhileNoControllerRanRemovesTheCordon) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  stop();
  close();
  start();
  EXPECT_TRUE(test::eventually([&] { return !is_cordoned() && !is_marked() && !answer(); }));
}

TEST_F(MigDrainerTest, AnInvalidAnnotationIsLoggedOnceAndTheCordonStays) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  say("{");
  const auto said = [&] { return log_.count("Node gpu-1: annotation tranche.dev/mig-change"); };
  ASSERT_TRUE(test::eventually([&] { return said() == 1; }));
  let_it_look();
  EXPECT_EQ(said(), 1);
  EXPECT_TRUE(is_cordoned());
}

TEST_F(MigDrainerTest, ASecondChangeIsAnsweredAnew) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  say(change(MigPhase::kDraining));
  ASSERT_TRUE(test::eventually([&] { return is_cordoned(); }));
  // The agent has lost its disk since: the cordon of the first change is still ours.
  auto second = change(MigPhase::kAsking);
  second.id = "c-2";
  say(second);
  ASSERT_TRUE(
      answered([](const auto& now) { return now.answer == MigDrain::Answer::kAccepted; }, "c-2"));
  offer({{kGpu, "0"}, {kSmall, "28"}});
  second.phase = MigPhase::kFinished;
  say(second);
  EXPECT_TRUE(test::eventually([&] { return !is_cordoned() && !is_marked(); }));
}

TEST_F(MigDrainerTest, ANodeThatIsDeletedIsForgotten) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  const auto before = calls("get nodes gpu-1");
  objects_.erase(cluster::kNode, {.name = "gpu-1"});
  EXPECT_TRUE(test::eventually([&] { return calls("get nodes gpu-1") > before; }));
  EXPECT_EQ(log_.count("tried again"), 0);
}

TEST_F(MigDrainerTest, WithoutLeadershipNothingIsDone) {
  put_nodes();
  std::atomic<bool> leads = false;
  start([&] { return leads ? milliseconds(1000) : milliseconds(0); });
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(
      test::eventually([&] { return log_.count("gpu-1: this controller does not lead") >= 1; }));
  EXPECT_FALSE(answer());
  leads = true;
  EXPECT_TRUE(accepted());
  stop();
}

TEST_F(MigDrainerTest, TheAnswerIsRenewedForTheAgent) {
  put_nodes();
  start();
  say(change(MigPhase::kAsking));
  ASSERT_TRUE(accepted());
  const auto first = answer()->written_at;
  clock_.advance(MigChange::kRefresh + std::chrono::seconds(1));
  say(change(MigPhase::kAsking));
  EXPECT_TRUE(answered([&](const auto& now) { return now.written_at > first; }));
}

// Each kind of call fails several times: the end is the same as without failures.
TEST_F(MigDrainerTest, EveryCallMayFail) {
  const struct {
    const char* verb;
    cluster::Kind kind;
    Code code;
  } faults[] = {
      {"get", cluster::kNode, Code::kUnavailable},
      {"get", cluster::kNode, Code::kTimeout},
      {"list", cluster::kNode, Code::kUnavailable},
      {"list", cluster::kPod, Code::kUnavailable},
      {"list", cluster::kPod, Code::kPermission},
      {"patch", cluster::kNode, Code::kTimeout},
      {"patch", cluster::kNode, Code::kUnavailable},
      {"patch", cluster::kNode, Code::kPermission},
      {"patch", cluster::kNode, Code::kFailedPrecondition},
      {"evict", cluster::kPod, Code::kUnavailable},
      {"evict", cluster::kPod, Code::kPermission},
      {"evict", cluster::kPod, Code::kTimeout},
      {"create", cluster::kEvent, Code::kUnavailable},
  };
  for (const auto& fault : faults) {
    const auto name = fmt::format("{} {} {}", fault.verb, fault.kind.plural, int(fault.code));
    put_nodes();
    put_pod("shop", "train", "gpu-1");
    objects_.refuse(fault.verb, fault.kind, {fault.code, "injected", ""}, 3);
    start();
    // The refused call may be the test's own.
    const auto do_it = [&](const MigChange& what) {
      const json object = {
          {"metadata",
           {{"labels", {{cluster::kMigChangeLabel, cluster::kMigChangeLabelValue}}},
            {"annotations", {{cluster::kMigChangeAnnotation, cluster::encode(what)}}}}}};
      ASSERT_TRUE(test::eventually([&] {
        return objects_
            .patch(cluster::kNode, {.name = "gpu-1"},
                   {.json = object.dump(), .field_manager = "somebody"})
            .has_value();
      })) << name;
    };
    do_it(change(MigPhase::kAsking, {{"shop", "train"}}));
    ASSERT_TRUE(accepted()) << name;
    do_it(change(MigPhase::kDraining, {{"shop", "train"}}));
    ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "train"); })) << name;
    ASSERT_TRUE(answered([](const auto& now) { return now.cordoned && now.blocked.empty(); }))
        << name;
    offer({{kGpu, "0"}, {kSmall, "28"}});
    do_it(change(MigPhase::kFinished));
    ASSERT_TRUE(answered([](const auto& now) { return now.uncordoned; })) << name;
    EXPECT_FALSE(is_cordoned() || is_marked()) << name;
    stop();
    objects_.recover();
  }
}

// A controller is replaced at any point of a change: the next one continues.
TEST_F(MigDrainerTest, AControllerMayEndAtAnyPoint) {
  put_nodes();
  put_pod("shop", "train", "gpu-1");
  const auto replace = [&] {
    stop();
    start();
  };
  start();
  say(change(MigPhase::kAsking, {{"shop", "train"}}));
  replace();
  ASSERT_TRUE(accepted());
  replace();
  say(change(MigPhase::kDraining, {{"shop", "train"}}));
  replace();
  ASSERT_TRUE(test::eventually([&] { return !is_there("shop", "train"); }));
  replace();
  say(change(MigPhase::kChanging));
  replace();
  ASSERT_TRUE(test::eventually([&] { return is_cordoned() && is_marked(); }));
  offer({{kGpu, "0"}, {kSmall, "28"}});
  say(change(MigPhase::kFinished));
  replace();
  ASSERT_TRUE(answered([](const auto& now) { return now.uncordoned; }));
  replace();
  EXPECT_TRUE(test::eventually([&] { return !is_cordoned() && !is_marked(); }));
  EXPECT_EQ(events("MigChangeAnnounced").size(), 1U);
}

}  // namespace
}  // namespace tranche::controller::mig_drainer_test
