#include "agent/limits/finding_reporter.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::finding_reporter_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class FindingReporterTest : public testing::Test {
 protected:
  FindingReporterTest() {
    objects_.put(cluster::kNode, R"({"metadata":{"name":"n1","labels":{"a":"b"}}})");
    put_pod("n1");
    node_.emplace(objects_, "n1", notifier_, log_.log(), kQuick);
    EXPECT_TRUE(test::eventually([&] { return node_->synced(); }));
    restart(true);
    beat();
  }
  void put_pod(const std::string& node) {
    uid_ = json::parse(objects_
                           .put(cluster::kPod,
                                fmt::format(R"({{"metadata":{{"name":"p","namespace":"shop"}},
                                    "spec":{{"nodeName":"{}"}}}})",
                                            node))
                           .json)["metadata"]["uid"]
               .get<std::string>();
  }
  void restart(bool asks) {
    reporter_.reset();
    pods_.emplace(objects_, "n1", log_.log(), kQuick);
    reporter_.emplace(objects_, *node_, *pods_, book_,
                      FindingReporter::Options{.arbiter_dir = dir_.path(), .asks = asks}, clock_,
                      log_.log());
    reporter_->follow({{"nvidia.com/gpu.shared"}, {"GPU-0a"}});
  }
  void beat() {
    const auto now = std::chrono::duration_cast<seconds>(clock_.wall_now().time_since_epoch());
    ASSERT_TRUE(FsRoot().write_atomic(dir_.path() / "alive", fmt::format("{}\n", now.count())));
  }
  void found(const std::vector<pid_t>& pids, limit::Finding::Kind kind = {}) {
    limit::ArbiterStatus status;
    status.tenants.push_back({.id = "t1", .resource = "nvidia.com/gpu.shared"});
    for (const auto pid : pids) {
      status.findings.push_back(
          {.kind = kind,
           .tenant = "t1",
           .pid = pid,
           .start_time = 9,
           .name = "occupy",
           .cgroup = fmt::format("/kubepods/pod{}/{}", uid_, std::string(64, 'c')),
           .device = "GPU-0a",
           .since = clock_.wall_now()});
    }
    ASSERT_TRUE(FsRoot().write_atomic(dir_.path() / "status.json",
                                      limit::encode(status, clock_.wall_now())));
  }
  // As in the agent: looks at intervals, and reads the Pods in between.
  bool look_until(const std::function<bool()>& done) {
    return test::eventually([&] {
      reporter_->look({});
      return done();
    });
  }
  std::size_t events(const std::string& ns) {
    return objects_.list(cluster::kEvent, {.ns = ns})->items.size();
  }
  std::optional<cluster::EvictionRequests> asked() {
    const auto node = node_->node();
    if (!node) return std::nullopt;
    const auto text = node->annotations.find(cluster::kEvictRequestsAnnotation);
    const bool labelled = node->labels.contains(cluster::kEvictRequestsLabel);
    EXPECT_EQ(text != node->annotations.end(), labelled);
    if (text == node->annotations.end()) return std::nullopt;
    return cluster::decode_eviction_requests(text->second).value();
  }
  std::ptrdiff_t patches_of_the_node() {
    const auto all = objects_.calls();
    return std::ranges::count(all, "patch nodes n1");
  }

  static constexpr Backoff kQuick{milliseconds(1), milliseconds(4)};
  test::TempDir dir_;
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  process::ChangeNotifier notifier_;
  std::string uid_;
  std::optional<NodeView> node_;
  std::optional<PodsOfNode> pods_;
  Book book_{clock_};
  std::optional<FindingReporter> reporter_;
};

TEST_F(FindingReporterTest, NothingFoundNothingIsReadOrWritten) {
  found({});
  reporter_->look({});
  EXPECT_EQ(events("shop") + events("default"), 0U);
  EXPECT_EQ(patches_of_the_node(), 0);
  const auto calls = objects_.calls();
  EXPECT_EQ(std::ranges::count(calls, "list pods"), 0) << "Pods are read from the first finding on";
}

TEST_F(FindingReporterTest, AFindingBecomesEventsAndARequest) {
  found({42});
  ASSERT_TRUE(look_until([&] { return asked().has_value(); }));
  EXPECT_EQ(events("shop"), 1U);
  EXPECT_EQ(events("default"), 1U);
  ASSERT_EQ(asked()->pods.size(), 1U);
  EXPECT_EQ(asked()->pods[0].name, "p");
  EXPECT_EQ(asked()->pods[0].uid, uid_);
  EXPECT_EQ(node_->node()->labels.at("a"), "b") << "others' labels stay";
  EXPECT_EQ(log_.count("asking the controller to evict shop/p"), 1);
}

TEST_F(FindingReporterTest, ARequestIsRenewedWhileItStandsAndTakenBackAfter) {
  found({42});
  ASSERT_TRUE(look_until([&] { return asked().has_value(); }));
  const auto first = asked()->written_at;
  // Counted from here: a look that runs before the watch shows the first request writes it again.
  const auto patches = patches_of_the_node();
  reporter_->look({});
  EXPECT_EQ(patches_of_the_node(), patches);
  clock_.advance(cluster::EvictionRequests::kRefresh);
  beat();
  reporter_->look({});
  ASSERT_TRUE(test::eventually([&] { return asked()->written_at > first; }));
  EXPECT_EQ(patches_of_the_node(), patches + 1);
  found({});
  ASSERT_TRUE(look_until([&] { return !asked().has_value(); }));
  EXPECT_EQ(events("shop"), 1U) << "what was said stays said";
}

TEST_F(FindingReporterTest, TheBookHasWhatIsUsedWithoutAGrantWhileItIs) {
  found({42, 43}, limit::Finding::Kind::kNoGrant);
  ASSERT_TRUE(look_until([&] { return !book_.ungranted()->empty(); }));
  ASSERT_EQ(book_.ungranted()->size(), 1U) << "one a container";
  EXPECT_EQ(book_.ungranted()->front().pod, "p");
  EXPECT_EQ(book_.ungranted()->front().device, "GPU-0a");
  std::filesystem::remove(dir_.path() / "alive");
  reporter_->look({});
  EXPECT_TRUE(book_.ungranted()->empty()) << "without an arbiter nothing is observed";
}

TEST_F(FindingReporterTest, WhatAnAgentBeforeAskedForIsTakenBack) {
  found({42});
  ASSERT_TRUE(look_until([&] { return asked().has_value(); }));
  found({});
  restart(true);
  ASSERT_TRUE(look_until([&] { return !asked().has_value(); }));
}

TEST_F(FindingReporterTest, WithoutAControllerThereAreEventsAlone) {
  restart(false);
  found({42});
  ASSERT_TRUE(look_until([&] { return events("shop") == 1; }));
  reporter_->look({});
  EXPECT_EQ(patches_of_the_node(), 0);
}

TEST_F(FindingReporterTest, ThePolicyFollowsTheConfiguration) {
  found({42});
  ASSERT_TRUE(look_until([&] { return asked().has_value(); }));
  reporter_->follow({});
  ASSERT_TRUE(look_until([&] { return !asked().has_value(); }));
}

TEST_F(FindingReporterTest, AnArbiterThatDoesNotLiveFindsNothing) {
  found({42});
  ASSERT_TRUE(look_until([&] { return asked().has_value(); }));
  clock_.advance(process::LivenessFile::kLongest + seconds(1));
  ASSERT_TRUE(look_until([&] { return !asked().has_value(); }));
}

TEST_F(FindingReporterTest, ATornStatusIsSaidOnceAndChangesNothing) {
  found({42});
  ASSERT_TRUE(look_until([&] { return asked().has_value(); }));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(FsRoot().write_atomic(dir_.path() / "status.json", "{"));
    reporter_->look({});
  }
  EXPECT_EQ(log_.count("what the arbiter finds is not told"), 1);
  EXPECT_TRUE(asked().has_value());
}

TEST_F(FindingReporterTest, WithoutLeaveToReadPodsTheNodeIsToldAllTheSame) {
  objects_.refuse("list", cluster::kPod, {Code::kPermission, "pods: forbidden", ""});
  found({42});
  ASSERT_TRUE(look_until([&] { return events("default") == 1; }));
  EXPECT_EQ(events("shop"), 0U);
}

TEST_F(FindingReporterTest, ARefusedRequestIsLoggedOnceAndTriedAgainLater) {
  objects_.refuse("patch", cluster::kNode, {Code::kPermission, "nodes/status: forbidden", ""}, 2);
  found({42});
  ASSERT_TRUE(look_until([&] { return patches_of_the_node() == 1; }));
  reporter_->look({});
  EXPECT_EQ(patches_of_the_node(), 1);
  for (int i = 0; i < 2; ++i) {
    clock_.advance(seconds(30));
    beat();
    reporter_->look({});
  }
  EXPECT_EQ(log_.count("the controller cannot be asked to evict"), 1);
  ASSERT_TRUE(test::eventually([&] { return asked().has_value(); }));
}

}  // namespace
}  // namespace tranche::agent::finding_reporter_test
