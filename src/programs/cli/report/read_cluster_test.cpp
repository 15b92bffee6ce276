#include "cli/report/read_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_objects.h"

namespace tranche::cli::read_cluster_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReadClusterTest : public testing::Test {
 protected:
  ReadClusterTest() {
    objects_.put(cluster::kNode, R"({"metadata":{"name":"n"}})");
    objects_.put(cluster::kPod,
                 R"({"metadata":{"namespace":"a","name":"p"},"spec":{"containers":[{"name":"c",
                    "resources":{"limits":{"nvidia.com/gpu":"1"}}}]}})");
    objects_.put(cluster::kPod, R"({"metadata":{"namespace":"a","name":"q"},"spec":{}})");
    objects_.put(cluster::kNamespace, R"({"metadata":{"name":"a","labels":{"k":"v"}}})");
  }
  Result<ClusterFacts> read() { return read_cluster(objects_, {}); }

  test::FakeObjects objects_;
};

TEST_F(ReadClusterTest, OnlyWhatConcernsGpus) {
  objects_.serve(cluster::kGpuTier, false);
  const auto read = this->read();
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(read->gaps, IsEmpty()) << "a kind that is not served is no gap";
  EXPECT_EQ(read->facts.nodes.size(), 1U);
  EXPECT_EQ(read->facts.pods.size(), 1U);
  EXPECT_EQ(read->facts.namespaces.at("a").at("k"), "v");
}

TEST_F(ReadClusterTest, WhatCannotBeReadIsSaid) {
  objects_.refuse("list", cluster::kPod, {Code::kPermission, "may not list pods"});
  const auto read = this->read();
  ASSERT_TRUE(read);
  EXPECT_THAT(read->gaps, ElementsAre(HasSubstr("pods could not be read: may not list pods")));
}

TEST_F(ReadClusterTest, AnApiServerThatIsAwayIsAskedOnce) {
  for (const auto* const kind :
       {&cluster::kNode, &cluster::kGpuNode, &cluster::kPod, &cluster::kResourceClaim,
        &cluster::kDeviceClass, &cluster::kGpuTier, &cluster::kNamespace}) {
    objects_.refuse("list", *kind, {Code::kUnavailable, "away"});
  }
  const auto read = this->read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnavailable);
  EXPECT_EQ(objects_.count_calls("list"), 1);
}

}  // namespace
}  // namespace tranche::cli::read_cluster_test
