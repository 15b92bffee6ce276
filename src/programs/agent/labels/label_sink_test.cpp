#include "agent/labels/label_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/wait.h"

namespace tranche::agent::label_sink_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr Backoff kQuick{milliseconds(1), milliseconds(4)};
// No retry within a test.
constexpr Backoff kNever{std::chrono::hours(1), std::chrono::hours(1)};
const cluster::ObjectKey kNodeKey = {.ns = "", .name = "n1"};
const cluster::ObjectKey kFeatureKey = {.ns = "gpu", .name = "nvidia-features-for-n1"};
const labels::Labels kLabels = {{"nvidia.com/gpu.count", "2"}, {"nvidia.com/gpu.product", "L20"}};

class LabelSinkTest : public testing::Test {
 protected:
  json object(const cluster::Kind& kind, const cluster::ObjectKey& key) {
    const auto text = objects_.text(kind, key);
    return text.empty() ? json() : json::parse(text);
  }
  json node_labels() { return object(cluster::kNode, kNodeKey)["metadata"]["labels"]; }
  std::ptrdiff_t calls(const std::string& beginning) { return objects_.count_calls(beginning); }

  test::FakeObjects objects_;
  test::LogRecorder log_;
  process::ChangeNotifier notifier_;
};

class NodeFeatureLabelsTest : public LabelSinkTest {
 protected:
  void open(Backoff backoff = kQuick) {
    sink_.emplace(objects_,
                  NodeFeatureWriter::Options{.ns = "gpu", .node_name = "n1", .pod_name = "p"},
                  notifier_, log_.log(), backoff);
  }
  bool written(const labels::Labels& labels) {
    return test::eventually([&] {
      const auto feature = object(cluster::kNodeFeature, kFeatureKey);
      return !feature.is_null() && feature["spec"]["labels"] == json(labels);
    });
  }
  std::optional<NodeFeatureLabels> sink_;
};

TEST_F(NodeFeatureLabelsTest, WritesAsNvidiasFeatureDiscovery) {
  objects_.put(cluster::kPod, R"({"metadata":{"namespace":"gpu","name":"p","uid":"pod-uid",
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"ds-uid",
      "controller":true}]},"spec":{"containers":[]}})");
  open();
  sink_->write(kLabels);
  ASSERT_TRUE(written(kLabels));
  const auto feature = object(cluster::kNodeFeature, kFeatureKey);
  EXPECT_EQ(feature["metadata"]["labels"], json({{"nfd.node.kubernetes.io/node-name", "n1"}}));
  const auto& owners = feature["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 2U);
  EXPECT_EQ(owners[0]["uid"], "ds-uid");
  EXPECT_EQ(owners[1]["kind"], "Pod");
}

TEST_F(NodeFeatureLabelsTest, SendsNothingWhenNothingDiffersAndMendsWhatOthersDid) {
  open();
  sink_->write(kLabels);
  ASSERT_TRUE(written(kLabels));
  const auto written_first = calls("create nodefeatures");
  objects_.erase(cluster::kNodeFeature, kFeatureKey);
  ASSERT_TRUE(test::eventually([&] {
    sink_->write(kLabels);
    return !object(cluster::kNodeFeature, kFeatureKey).is_null();
  }));
  EXPECT_GT(calls("create nodefeatures"), written_first);
  EXPECT_EQ(log_.count("gets no owner"), 1) << "there is no Pod p";
}

// NVIDIA's chart grants its feature discovery get, list, watch, create and update.
TEST_F(NodeFeatureLabelsTest, NeitherPatchesNorApplies) {
  objects_.refuse("apply", cluster::kNodeFeature, {Code::kPermission, "nodefeatures: forbidden"});
  objects_.refuse("patch", cluster::kNodeFeature, {Code::kPermission, "nodefeatures: forbidden"});
  open();
  sink_->write(kLabels);
  ASSERT_TRUE(written(kLabels));
  const labels::Labels others = {{"nvidia.com/gpu.count", "3"}};
  sink_->write(others);
  EXPECT_TRUE(written(others)) << "a label that is no longer wanted goes";
}

TEST_F(NodeFeatureLabelsTest, KeepsWhatOthersWroteNextToTheLabels) {
  objects_.put(cluster::kNodeFeature, R"({"metadata":{"namespace":"gpu",
      "name":"nvidia-features-for-n1","annotations":{"a":"theirs"},"labels":{"team":"x"}},
      "spec":{"labels":{"nvidia.com/stale":"1"},"features":{"flags":{"f":{"elements":{}}}}}})");
  open();
  sink_->write(kLabels);
  ASSERT_TRUE(written(kLabels));
  const auto feature = object(cluster::kNodeFeature, kFeatureKey);
  EXPECT_EQ(feature["metadata"]["annotations"], json({{"a", "theirs"}}));
  EXPECT_EQ(feature["metadata"]["labels"],
            json({{"team", "x"}, {"nfd.node.kubernetes.io/node-name", "n1"}}));
  EXPECT_EQ(feature["spec"]["features"], json::parse(R"({"attributes":{},"instances":{},
      "flags":{"f":{"elements":{}}}})"));
}

TEST_F(NodeFeatureLabelsTest, TriesAgainWhenSomebodyElseWroteMeanwhile) {
  open();
  sink_->write(kLabels);
  ASSERT_TRUE(written(kLabels));
  objects_.refuse("update", cluster::kNodeFeature, {Code::kFailedPrecondition, "changed"}, 2);
  const labels::Labels others = {{"nvidia.com/gpu.count", "3"}};
  sink_->write(others);
  EXPECT_TRUE(written(others));
}

TEST_F(NodeFeatureLabelsTest, ANewPodOwnsAnObjectThatSaysTheSameAlready) {
  objects_.put(cluster::kPod,
               R"({"metadata":{"namespace":"gpu","name":"p"},"spec":{"containers":[]}})");
  objects_.put(cluster::kNodeFeature,
               cluster::to_json({.key = kFeatureKey,
                                 .node = "n1",
                                 .owners = {{"v1", "Pod", "p-before", "old", false}},
                                 .labels = kLabels}));
  open();
  sink_->write(kLabels);
  EXPECT_TRUE(test::eventually([&] {
    const auto feature = object(cluster::kNodeFeature, kFeatureKey);
    const auto& owners = feature["metadata"]["ownerReferences"];
    return owners.size() == 1 && owners[0]["name"] == "p";
  }));
}

TEST_F(NodeFeatureLabelsTest, WithoutNodeFeatureDiscoveryItSaysWhatToDo) {
  objects_.serve(cluster::kNodeFeature, false);
  open();
  sink_->write(kLabels);
  ASSERT_TRUE(test::eventually(
      [&] { return log_.count("install node feature discovery, or choose another") == 1; }));
  objects_.serve(cluster::kNodeFeature, true);
  EXPECT_TRUE(written(kLabels));
}

TEST_F(NodeFeatureLabelsTest, AskedAgainWithTheSameLabelsItGoesOnWaiting) {
  objects_.refuse("create", cluster::kNodeFeature, {Code::kPermission, "nodefeatures: forbidden"});
  open(kNever);
  sink_->write(kLabels);
  ASSERT_TRUE(test::eventually([&] { return log_.count("nodefeatures: forbidden") == 1; }));
  for (int i = 0; i < 10; ++i) sink_->write(kLabels);
  objects_.recover();
  const labels::Labels others = {{"nvidia.com/gpu.count", "3"}};
  sink_->write(others);
  EXPECT_TRUE(written(others)) << "other labels are written at once";
  EXPECT_EQ(calls("create nodefeatures"), 2);
}

class NodeLabelsTest : public LabelSinkTest {
 protected:
  void open(const json& labels, Backoff backoff = kQuick) {
    objects_.put(cluster::kNode, json{{"metadata", {{"name", "n1"}, {"labels", labels}}}}.dump());
    node_.emplace(objects_, "n1", notifier_, log_.log(), Backoff{milliseconds(1), milliseconds(4)});
    ASSERT_TRUE(test::eventually([&] { return node_->node().has_value(); }));
    sink_.emplace(objects_, *node_, log_.log(), backoff);
  }
  // As kubelet does every few seconds; then the agent's loop calls the sink again.
  void change_status(const std::string& heartbeat) {
    const auto node = objects_.put(
        cluster::kNode,
        json{{"metadata", {{"name", "n1"}}},
             {"status", {{"conditions", {{{"type", "Ready"}, {"message", heartbeat}}}}}}}
            .dump());
    ASSERT_TRUE(test::eventually([&] {
      const auto seen = node_->node();
      return seen && seen->resource_version == node.resource_version;
    }));
    sink_->write(kLabels);
  }
  bool has(const json& labels) {
    return test::eventually([&] { return node_labels() == labels; });
  }
  std::optional<NodeView> node_;
  std::optional<NodeLabels> sink_;
};

TEST_F(NodeLabelsTest, AddsChangesAndTakesAwayOnlyItsOwn) {
  open({{"kubernetes.io/hostname", "n1"}});
  sink_->write(kLabels);
  ASSERT_TRUE(has({{"kubernetes.io/hostname", "n1"},
                   {"nvidia.com/gpu.count", "2"},
                   {"nvidia.com/gpu.product", "L20"}}));
  sink_->write({{"nvidia.com/gpu.count", "3"}});
  EXPECT_TRUE(has({{"kubernetes.io/hostname", "n1"}, {"nvidia.com/gpu.count", "3"}}));
}

TEST_F(NodeLabelsTest, WhatSomeoneElseSetIsLeftAndReported) {
  open({{"nvidia.com/gpu.product", "mine"}});
  // Another field manager owns the label in server-side apply.
  ASSERT_TRUE(objects_.apply(cluster::kNode, kNodeKey,
                             {.json = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1",
                   "labels":{"nvidia.com/gpu.product":"mine"}}})",
                              .field_manager = "someone"}));
  sink_->write(kLabels);
  ASSERT_TRUE(has({{"nvidia.com/gpu.product", "mine"}, {"nvidia.com/gpu.count", "2"}}));
  EXPECT_TRUE(test::eventually([&] {
    return log_.count("someone else set are left as they are: nvidia.com/gpu.product") == 1;
  }));
}

TEST_F(NodeLabelsTest, ARecreatedNodeIsLabelledAnew) {
  open(json::object());
  sink_->write(kLabels);
  ASSERT_TRUE(has(json(kLabels)));
  objects_.erase(cluster::kNode, kNodeKey);
  objects_.put(cluster::kNode, R"({"metadata":{"name":"n1"}})");
  EXPECT_TRUE(test::eventually([&] {
    sink_->write(kLabels);
    return node_labels() == json(kLabels);
  }));
}

TEST_F(NodeLabelsTest, AStreamOfNodeChangesDoesNotDefeatTheBackOff) {
  open(json::object(), kNever);
  objects_.refuse("apply", cluster::kNode, {Code::kPermission, "nodes: forbidden"});
  sink_->write(kLabels);
  ASSERT_TRUE(test::eventually([&] { return log_.count("nodes: forbidden") == 1; }));
  for (int i = 0; i < 10; ++i) change_status(std::to_string(i));
  objects_.recover();
  const labels::Labels others = {{"nvidia.com/gpu.count", "3"}};
  sink_->write(others);
  EXPECT_TRUE(has(json(others))) << "other labels are written at once";
  EXPECT_EQ(calls("apply nodes"), 2);
}

TEST_F(NodeLabelsTest, ARecreatedNodeIsNoReasonToWait) {
  open(json::object(), kNever);
  objects_.refuse("apply", cluster::kNode, {Code::kPermission, "nodes: forbidden"});
  sink_->write(kLabels);
  ASSERT_TRUE(test::eventually([&] { return log_.count("nodes: forbidden") == 1; }));
  objects_.recover();
  objects_.erase(cluster::kNode, kNodeKey);
  change_status("recreated");
  EXPECT_TRUE(has(json(kLabels)));
}

TEST_F(NodeLabelsTest, WhatIsNoLongerWantedIsGivenUp) {
  open(json::object(), kNever);
  sink_->write(kLabels);
  ASSERT_TRUE(has(json(kLabels)));
  ASSERT_TRUE(test::eventually([&] { return node_->node()->labels == kLabels; }));
  ASSERT_TRUE(test::eventually([&] { return log_.count("wrote 2 labels to Node n1") == 1; }));
  const labels::Labels others = {{"nvidia.com/gpu.count", "3"}};
  objects_.refuse("apply", cluster::kNode, {Code::kUnavailable, "nodes: away"});
  sink_->write(others);
  ASSERT_TRUE(test::eventually([&] { return log_.count("nodes: away") == 1; }));
  sink_->write(kLabels);  // these labels are on the Node already
  objects_.recover();
  sink_->write(others);
  EXPECT_TRUE(has(json(others))) << "nothing was left that would have waited";
}

TEST_F(NodeLabelsTest, NothingIsSentWhenNothingDiffers) {
  open(json::object());
  sink_->write(kLabels);
  ASSERT_TRUE(has(json(kLabels)));
  ASSERT_TRUE(test::eventually([&] { return node_->node()->labels == kLabels; }));
  ASSERT_TRUE(test::eventually([&] { return log_.count("wrote 2 labels to Node n1") == 1; }));
  const auto applied = calls("apply nodes");
  sink_->write(kLabels);
  sink_->write({{"nvidia.com/gpu.count", "3"}});
  ASSERT_TRUE(has({{"nvidia.com/gpu.count", "3"}}));
  EXPECT_EQ(calls("apply nodes"), applied + 1);
}

}  // namespace
}  // namespace tranche::agent::label_sink_test
