#include "agent/config/cluster_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "agent/config/reading_mark.h"
#include "cluster/formats/policy_annotations.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/temp_dir.h"
#include "support/wait.h"

namespace tranche::agent::cluster_source_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr Backoff kQuick{milliseconds(1), milliseconds(4)};

std::string sharing(int replicas) {
  return "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n"
         "      replicas: " +
         std::to_string(replicas) + "\n";
}

class ClusterSourceTest : public testing::Test {
 protected:
  void put_node(const json& labels) {
    objects_.put(cluster::kNode, json{{"metadata", {{"name", "n1"}, {"labels", labels}}}}.dump());
  }
  void label(const std::string& value) { put_node({{"nvidia.com/device-plugin.config", value}}); }
  void put_map(const json& data, const json& annotations = json::object()) {
    objects_.put(cluster::kConfigMap, json{{"metadata",
                                            {{"namespace", "kube-system"},
                                             {"name", "time-slicing-config"},
                                             {"annotations", annotations}}},
                                           {"data", data}}
                                          .dump());
  }
  void open() {
    source_.reset();
    node_.emplace(objects_, "n1", notifier_, log_.log(), kQuick);
    source_.emplace(config::Sources(), options_, objects_, *node_, notifier_, clock_, log_.log());
  }
  // The replicas that read() gives in the end; 0: no sharing.
  bool gives(int replicas) {
    return test::eventually([&] {
      const auto loaded = source_->read();
      if (!loaded) return false;
      const auto& sharing = loaded->config.sharing.time_slicing;
      return (sharing ? sharing->resources[0].replicas : 0) == replicas;
    });
  }
  bool fails(Code code, std::string_view text) {
    return test::eventually([&] {
      const auto loaded = source_->read();
      last_ = loaded ? "none" : loaded.error().message();
      return !loaded && loaded.error().code == code && last_.contains(text);
    });
  }

  std::string last_;  // seen by fails()
  test::TempDir dir_;
  test::FakeObjects objects_;
  test::FakeClock clock_;
  test::LogRecorder log_;
  process::ChangeNotifier notifier_;
  ClusterSource::Options options_{
      .choice = {.map_namespace = "kube-system", .map_name = "time-slicing-config"},
      .state_dir = dir_.path(),
      .backoff = kQuick};
  std::optional<NodeView> node_;
  std::optional<ClusterSource> source_;
};

TEST_F(ClusterSourceTest, TheLabelChooses) {
  put_map({{"l20", sharing(8)}, {"t4", sharing(3)}});
  label("t4");
  open();
  ASSERT_TRUE(gives(3));
  EXPECT_EQ(source_->origin(),
            "ConfigMap kube-system/time-slicing-config, key t4 (label "
            "nvidia.com/device-plugin.config=t4), " +
                content_word(sharing(3)));
  label("l20");
  EXPECT_TRUE(gives(8));
  put_map({{"l20", sharing(9)}});
  EXPECT_TRUE(gives(9));
}

// The Node's condition has the origin, and a change of it is an Event.
TEST_F(ClusterSourceTest, ChangedContentUnderTheSameKeyHasAnotherOrigin) {
  put_map({{"t4", sharing(3)}});
  label("t4");
  open();
  ASSERT_TRUE(gives(3));
  const auto before = source_->origin();
  put_map({{"t4", sharing(4)}, {"other", sharing(2)}});
  ASSERT_TRUE(gives(4));
  const auto changed = source_->origin();
  EXPECT_NE(changed, before);
  EXPECT_THAT(changed, HasSubstr("key t4"));
  put_map({{"t4", sharing(3)}, {"more", sharing(5)}});
  ASSERT_TRUE(gives(3));
  EXPECT_EQ(source_->origin(), before) << "it has the content of before";
}

TEST_F(ClusterSourceTest, AnEmptyKeyIsTakenWithAWarning) {
  put_map({{"t4", sharing(3)}});
  label("t4");
  open();
  ASSERT_TRUE(gives(3));
  for (const auto* nothing : {" \n", "# sharing: later\n", "---\nnull\n"}) {
    put_map({{"t4", nothing}});
    ASSERT_TRUE(gives(0));
    const auto loaded = source_->read();
    ASSERT_EQ(loaded->warnings.size(), 1U) << nothing;
    EXPECT_THAT(loaded->warnings[0].message,
                HasSubstr("kube-system/time-slicing-config:t4 is empty: nothing is shared"));
    put_map({{"t4", sharing(3)}});
    ASSERT_TRUE(gives(3));
  }
}

TEST_F(ClusterSourceTest, ChangesRingTheBell) {
  put_map({{"l20", sharing(8)}});
  label("l20");
  std::atomic<int> rings = 0;
  notifier_.listen([&] { ++rings; });
  open();
  ASSERT_TRUE(gives(8));
  for (const auto& change : {std::function<void()>([&] { label("t4"); }),
                             std::function<void()>([&] { put_map({{"t4", sharing(3)}}); })}) {
    const int before = rings;
    change();
    EXPECT_TRUE(test::eventually([&] { return rings > before; }));
  }
  notifier_.listen({});
}

TEST_F(ClusterSourceTest, WithoutALabelDefaultThenFallbacks) {
  put_node(json::object());
  put_map({{"default", sharing(2)}, {"x", sharing(5)}});
  open();
  EXPECT_TRUE(gives(2)) << "the key named default";
  put_map({{"x", sharing(5)}});
  EXPECT_TRUE(gives(5)) << "the only key";
  put_map({{"x", sharing(5)}, {"y", sharing(6)}});
  EXPECT_TRUE(fails(Code::kNotFound, "no config was set, no default was provided"));
  options_.choice.default_config = "y";
  open();
  EXPECT_TRUE(gives(6));
}

TEST_F(ClusterSourceTest, NothingBeforeBothAreKnown) {
  put_node(json::object());
  objects_.refuse("list", cluster::kConfigMap, {Code::kUnavailable, "away"});
  open();
  EXPECT_TRUE(fails(Code::kUnavailable, "away"));
  put_map({{"default", sharing(2)}, {"t4", sharing(3)}});
  label("t4");
  objects_.recover();
  ASSERT_TRUE(gives(3));
}

TEST_F(ClusterSourceTest, MessagesNameTheMapAndTheKeys) {
  label("t4");
  open();
  EXPECT_TRUE(fails(Code::kNotFound, "ConfigMap kube-system/time-slicing-config does not exist"));
  put_map({{"l20", sharing(8)}, {"bad", "version: v9\n"}});
  EXPECT_TRUE(fails(Code::kNotFound,
                    "ConfigMap kube-system/time-slicing-config: label "
                    "nvidia.com/device-plugin.config=t4: specified config t4 does not exist; "
                    "there are bad, l20"));
  label("bad");
  EXPECT_TRUE(fails(Code::kInvalidArgument, "kube-system/time-slicing-config:bad:1: version"))
      << last_;
}

// Without it every agent that such a ConfigMap reaches would end again and again.
TEST_F(ClusterSourceTest, WhatEndsEveryReaderIsRefusedAndTheLastGoodStays) {
  put_map({{"default", sharing(8)}});
  label("none");
  put_node(json::object());
  open();
  ASSERT_TRUE(gives(8));
  source_->accepted();
  // Two agents that ended while they read it.
  const ReadingMark mark(dir_.path() / "config-being-read");
  ASSERT_TRUE(mark.begin(sharing(3), "") && mark.begin(sharing(3), ""));
  put_map({{"default", sharing(3)}});
  open();
  EXPECT_TRUE(fails(Code::kInvalidArgument,
                    "kube-system/time-slicing-config:default: reading it has ended this program "
                    "2 times"))
      << last_;
  const auto kept = source_->last_good();
  ASSERT_TRUE(kept) << kept.error().message();
  EXPECT_EQ(kept->config.sharing.time_slicing->resources[0].replicas, 8);
  EXPECT_TRUE(fails(Code::kInvalidArgument, "reading it has ended")) << "still, after another read";
  put_map({{"default", sharing(4)}});
  EXPECT_TRUE(gives(4));
  EXPECT_FALSE(FsRoot().exists(dir_.path() / "config-being-read"));
}

TEST_F(ClusterSourceTest, OnlyANewTextIsMarkedAndARefusedOneLeavesNoMark) {
  put_map({{"default", sharing(8)}, {"bad", "version: v9\n"}});
  put_node(json::object());
  open();
  ASSERT_TRUE(gives(8));
  const auto file = dir_.path() / "config-being-read";
  ASSERT_TRUE(FsRoot().write_atomic(file, "of another process"));
  EXPECT_TRUE(source_->read());
  EXPECT_TRUE(FsRoot().exists(file)) << "the text was read before";
  label("bad");
  EXPECT_TRUE(fails(Code::kInvalidArgument, "version"));
  EXPECT_FALSE(FsRoot().exists(file));
}

TEST_F(ClusterSourceTest, ItTellsWhetherTheNodesLabelAsksForTheConfiguration) {
  put_map({{"default", sharing(2)}, {"l20", sharing(8)}});
  label("l20");
  open();
  ASSERT_TRUE(gives(8));
  EXPECT_EQ(source_->standing().is, ConfigStanding::Is::kCurrent);
  source_->accepted();
  put_node(json::object());
  ASSERT_TRUE(gives(2));
  EXPECT_EQ(source_->standing().is, ConfigStanding::Is::kDefault);
  // What is used instead of an answer may not be what is asked for.
  objects_.refuse("", cluster::kNode, {Code::kUnavailable, "connection refused"});
  open();
  ASSERT_TRUE(gives(8));
  EXPECT_EQ(source_->standing().is, ConfigStanding::Is::kUnknown);
}

TEST_F(ClusterSourceTest, AWrongNodeNameIsSaid) {
  put_map({{"default", sharing(2)}});
  open();
  EXPECT_TRUE(fails(Code::kUnavailable, "the cluster has no node n1"));
}

TEST_F(ClusterSourceTest, ADeletedNodeKeepsItsConfiguration) {
  put_map({{"l20", sharing(8)}, {"default", sharing(2)}});
  label("l20");
  open();
  ASSERT_TRUE(gives(8));
  objects_.erase(cluster::kNode, {.ns = "", .name = "n1"});
  ASSERT_TRUE(test::eventually([&] { return !node_->node(); }));
  EXPECT_TRUE(gives(8));
  put_node(json::object());
  EXPECT_TRUE(gives(2));
}

TEST_F(ClusterSourceTest, WithoutApiServerTheLastGoodOneServes) {
  put_map({{"l20", sharing(8)}});
  label("l20");
  open();
  ASSERT_TRUE(gives(8));
  source_->accepted();
  objects_.refuse("", cluster::kNode, {Code::kUnavailable, "away"});
  objects_.close_watches();
  open();
  ASSERT_TRUE(gives(8)) << "as soon as a call has failed";
  EXPECT_THAT(source_->origin(), HasSubstr("key l20"));
  label("");
  objects_.recover();
  put_map({{"default", sharing(2)}});
  EXPECT_TRUE(gives(2)) << "and what is asked for, once it is known";
}

TEST_F(ClusterSourceTest, ASilentApiServerIsWaitedForAMoment) {
  ASSERT_TRUE(ConfigMemory(dir_.path()).store({.origin = "o", .text = sharing(4), .name = "n"}));
  objects_.refuse("list", cluster::kNode, {Code::kUnavailable, "away"});
  options_.backoff = {std::chrono::hours(1), std::chrono::hours(1)};
  open();
  // After the patience the kept configuration is used, even if the request has not failed yet.
  clock_.advance(std::chrono::seconds(5));
  EXPECT_TRUE(gives(4));
}

TEST_F(ClusterSourceTest, LastGoodIsWhatWasAccepted) {
  put_map({{"l20", sharing(8)}});
  label("l20");
  open();
  EXPECT_EQ(source_->last_good().error().code, Code::kNotFound);
  ASSERT_TRUE(gives(8));
  EXPECT_FALSE(source_->last_good().has_value()) << "read, not accepted";
  source_->accepted();
  EXPECT_TRUE(source_->last_good().has_value());
}

TEST_F(ClusterSourceTest, AnnotationsOfTheMapWin) {
  put_node(json::object());
  options_.choice.default_config = "a";
  const json data = {{"a", sharing(2)}, {"b", sharing(5)}, {"default", sharing(7)}};
  put_map(data, {{cluster::kDefaultAnnotation, "b"}, {cluster::kMigStrategyAnnotation, "mixed"}});
  open();
  ASSERT_TRUE(gives(5));
  EXPECT_EQ(source_->read()->config.flags.mig_strategy, config::MigStrategy::kMixed);
  // A ClusterPolicy without a default: no sharing.
  put_map(data, {{cluster::kDefaultAnnotation, ""}, {cluster::kFallbackAnnotation, "empty"}});
  EXPECT_TRUE(gives(0));
  put_map(data, {{cluster::kWithholdAnnotation, "the GPU operator serves this cluster"}});
  EXPECT_TRUE(fails(Code::kAlreadyExists, "the GPU operator serves this cluster"));
}

TEST_F(ClusterSourceTest, AFolderIsChosenFromByLabelToo) {
  const auto folder = dir_.path() / "configs";
  const FsRoot fs;
  ASSERT_TRUE(fs.make_directories(folder));
  ASSERT_TRUE(fs.write_atomic(folder / "l20", sharing(8)));
  ASSERT_TRUE(fs.write_atomic(folder / "t4", sharing(3)));
  options_.choice.map_name = "";
  options_.folder = folder.string();
  label("t4");
  open();
  ASSERT_TRUE(gives(3));
  label("l20");
  EXPECT_TRUE(gives(8));
  label("x");
  EXPECT_TRUE(fails(Code::kNotFound, "specified config x does not exist; there are l20, t4"));
}

}  // namespace
}  // namespace tranche::agent::cluster_source_test
