#include "agent/metrics/tiers_of_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/kinds.h"
#include "support/fake_clock.h"
#include "support/fake_objects.h"
#include "support/log_recorder.h"
#include "support/machines.h"
#include "support/wait.h"

namespace tranche::agent::tiers_of_node_test {
namespace {

const Backoff kSoon{.first = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(5)};

std::string tier(const std::string& name, const std::string& eligibility) {
  return fmt::format(
      R"({{"apiVersion":"tranche.dev/v1alpha1","kind":"GPUTier","metadata":{{"name":"{}"}},)"
      R"("spec":{{"eligibility":{},"mechanism":{{"timeSlicing":{{"replicas":4}}}},)"
      R"("resource":"nvidia.com/gpu","isolation":"none","namespaces":{{"names":["team"]}},)"
      R"("support":"office hours"}}}})",
      name, eligibility);
}

class TiersOfNodeTest : public testing::Test {
 protected:
  std::string found() {
    std::vector<usage::ContainerFigures> one = {{.ns = "team",
                                                 .resource = "nvidia.com/gpu",
                                                 .mechanism = usage::Mechanism::kTimeSlicing,
                                                 .gpu = test::gpu_uuid(0)}};
    tiers_.set(one, machine_);
    return one[0].tier;
  }
  bool becomes(const std::string& name) {
    return test::eventually([&] { return found() == name; });
  }

  const gpu::Machine machine_ = test::machine_of(1, test::t4);
  test::FakeObjects objects_;
  test::LogRecorder log_;
  test::FakeClock clock_;
  std::optional<cluster::StringMap> labels_ = cluster::StringMap{{"pool", "small"}};
  TiersOfNode tiers_{objects_, [this] { return labels_; }, clock_, log_.log(), kSoon};
};

TEST_F(TiersOfNodeTest, TheOneOfTheGpusModel) {
  EXPECT_EQ(found(), "");
  objects_.put(cluster::kGpuTier, tier("l20", R"({"models":["NVIDIA-L20"]})"));
  objects_.put(cluster::kGpuTier, tier("t4", R"({"models":["Tesla-T4"]})"));
  EXPECT_TRUE(becomes("t4"));
  objects_.put(cluster::kGpuTier, tier("t4", R"({"models":["Tesla-T4"],"later":1})"));
  EXPECT_TRUE(becomes("")) << "it may restrict what this release does not know";
  objects_.put(cluster::kGpuTier, tier("t4", R"({"models":["Tesla-T4"]})"));
  EXPECT_TRUE(becomes("t4"));
  objects_.erase(cluster::kGpuTier, {"", "t4"});
  EXPECT_TRUE(becomes(""));
}

TEST_F(TiersOfNodeTest, TheNodesLabelsAreReadFromTimeToTime) {
  objects_.put(cluster::kGpuTier,
               tier("small", R"({"nodeSelector":{"matchLabels":{"pool":"small"}}})"));
  EXPECT_TRUE(becomes("small"));
  labels_.reset();
  EXPECT_EQ(found(), "small");
  clock_.advance(TiersOfNode::kReadLabelsEvery);
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace tranche::agent::tiers_of_node_test
