#include "cluster/daemon_set.h"

#include <gtest/gtest.h>

namespace tranche::cluster::daemon_set_test {
namespace {

TEST(DaemonSet, IsRead) {
  const auto set = parse_daemon_set(R"({
    "metadata": {"namespace": "gpu", "name": "d", "uid": "u", "resourceVersion": "7",
      "generation": 3, "labels": {"app": "x"},
      "annotations": {"deprecated.daemonset.template.generation": "2"},
      "ownerReferences": [{"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy",
        "name": "cluster-policy", "uid": "p", "controller": true}]},
    "spec": {"selector": {"matchLabels": {"a": "b"}}},
    "status": {"observedGeneration": 3, "desiredNumberScheduled": 4, "updatedNumberScheduled": 2,
      "numberReady": 1}})");
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(*set,
            (DaemonSet{.key = {"gpu", "d"},
                       .uid = "u",
                       .resource_version = "7",
                       .generation = 3,
                       .labels = {{"app", "x"}},
                       .owners = {{"nvidia.com/v1", "ClusterPolicy", "cluster-policy", "p", true}},
                       .selector = {{"a", "b"}},
                       .template_generation = "2",
                       .observed_generation = 3,
                       .desired = 4,
                       .updated = 2,
                       .ready = 1}));
  EXPECT_FALSE(parse_daemon_set(R"({"metadata": {"name": "d"}, "spec": {"selector": 1}})"));
}

TEST(DaemonSet, SelectsItsPods) {
  EXPECT_EQ((DaemonSet{.selector = {{"app", "x"}, {"part", "y"}}}.selector_text()), "app=x,part=y");
}

struct Case {
  const char* name;
  DaemonSet set;
  bool rolled_out;
};

TEST(DaemonSet, WhenItIsRolledOut) {
  const Case cases[] = {
      {"no node", {.generation = 1, .observed_generation = 1}, true},
      {"all",
       {.generation = 2, .observed_generation = 2, .desired = 2, .updated = 2, .ready = 2},
       true},
      {"change not seen yet",
       {.generation = 3, .observed_generation = 2, .desired = 2, .updated = 2, .ready = 2},
       false},
      {"an old Pod",
       {.generation = 2, .observed_generation = 2, .desired = 2, .updated = 1, .ready = 2},
       false},
      {"a Pod not ready",
       {.generation = 2, .observed_generation = 2, .desired = 2, .updated = 2, .ready = 1},
       false},
  };
  for (const auto& c : cases) EXPECT_EQ(c.set.rolled_out(), c.rolled_out) << c.name;
}

}  // namespace
}  // namespace tranche::cluster::daemon_set_test
