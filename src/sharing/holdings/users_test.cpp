#include "holdings/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::holdings {
namespace {

using testing::ElementsAre;

cluster::Pod pod(const std::string& name) {
  return {.ns = "team", .name = name, .uid = name + "-uid", .phase = "Running"};
}

cluster::PodContainer container(const std::string& name, const std::string& claim,
                                const std::string& request = "") {
  return {.name = name, .claims = {{.claim = claim, .request = request}}};
}

Holding claimed(const std::string& request) {
  return {.device = "GPU-0",
          .gpu = "GPU-0",
          .wire = Wire::kClaim,
          .id = "gpu-0",
          .claim = "train-x7",
          .request = request,
          .ns = "team"};
}

// "pod/container resource" of each.
std::vector<std::string> users_of(const Holding& holding, const std::vector<cluster::Pod>& pods) {
  std::vector<std::string> found;
  for (const auto& one : with_users(Holdings({holding}), pods)) {
    auto text = one.pod + '/' + one.container;
    if (!one.resource.value.empty()) text += ' ' + one.resource.value;
    found.push_back(std::move(text));
  }
  return found;
}

TEST(HoldingsUsers, OfAClaimAreTheContainersOfItsRequest) {
  auto one = pod("a");
  one.claims = {{.name = "gpu", .object = "train-x7"}, {.name = "later", .object = ""}};
  one.containers = {container("all", "gpu"), container("first", "gpu", "r1"),
                    container("second", "gpu", "r2"), container("none", "later"),
                    container("unknown", "missing")};
  EXPECT_THAT(users_of(claimed("r1"), {one}),
              ElementsAre("a/all claim/gpu", "a/first claim/gpu/r1"));
  EXPECT_THAT(users_of(claimed("r2"), {one}),
              ElementsAre("a/all claim/gpu", "a/second claim/gpu/r2"));
}

TEST(HoldingsUsers, SeveralPodsMayUseOneClaim) {
  std::vector<cluster::Pod> pods = {pod("a"), pod("b"), pod("gone"), pod("other")};
  for (auto& one : pods) {
    one.claims = {{.name = "gpu", .object = one.name == "other" ? "another" : "train-x7"}};
    one.containers = {container("main", "gpu")};
  }
  pods[2].phase = "Succeeded";
  EXPECT_THAT(users_of(claimed("r"), pods), ElementsAre("a/main claim/gpu", "b/main claim/gpu"));
  pods[0].ns = pods[1].ns = "elsewhere";
  EXPECT_THAT(users_of(claimed("r"), pods), ElementsAre("/")) << "a claim that nobody names stays";
}

TEST(HoldingsUsers, ASchedulersClaimIsOfTheRequestedResource) {
  auto one = pod("a");
  one.extended = {.object = "train-x7",
                  .uses = {{.container = "main", .resource = "nvidia.com/gpu", .request = "r1"},
                           {.container = "idle", .resource = "nvidia.com/gpu", .request = ""}}};
  EXPECT_THAT(users_of(claimed("r1"), {one}), ElementsAre("a/main nvidia.com/gpu"));
  auto named = with_users(Holdings({claimed("r1")}), std::vector{one});
  EXPECT_EQ(named.all().at(0).pod_uid, "a-uid");
  EXPECT_EQ(named.all().at(0).state, State::kGiven) << "kubelet has not started it";
  one.container_ids = {{"3f2a", "main"}};
  named = with_users(Holdings({claimed("r1")}), std::vector{one});
  EXPECT_EQ(named.all().at(0).state, State::kInUse);
}

TEST(HoldingsUsers, KubeletsHoldingsGetTheirPodsUids) {
  const Holding granted{.device = "GPU-0", .gpu = "GPU-0", .id = "GPU-0", .ns = "team", .pod = "a"};
  EXPECT_EQ(with_users(Holdings({granted}), std::vector{pod("a")}).all().at(0).pod_uid, "a-uid");
  EXPECT_EQ(with_users(Holdings({granted}), std::vector{pod("b")}).all().at(0).pod_uid, "");
}

}  // namespace
}  // namespace tranche::holdings
