// Rewrites of rewritten objects: unchanged, after the manifest is applied again or changed, and
// after somebody changed our annotation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/rewrite.h"
#include "support/admission.h"
#include "support/kubectl_apply.h"

namespace tranche::admission::rewrite_again_test {
namespace {

using namespace test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kRecord = "tranche.dev/gpu-fractions";

// Created by `kubectl apply`, and admitted.
json created(const json& manifest, const Fleet& fleet) {
  return admitted(with_last_applied(manifest, manifest), fleet);
}

json applied_again(const json& live, const json& manifest, const Fleet& fleet) {
  return admitted(kubectl_applied(live, manifest), fleet, live);
}

json two_halves() {
  auto object = pod({container("a", 0.5), container("b", 0.25)});
  object["spec"]["containers"][0]["resources"]["limits"]["cpu"] = "1";
  return object;
}

TEST(RewriteAgain, ChangesNothing) {
  struct Case {
    const char* name;
    json manifest;
    Fleet fleet;
  };
  auto together = two_halves();
  together["metadata"]["annotations"]["tranche.dev/gpu-together"] = "true";
  auto bytes = pod({container("a", 1)});
  bytes["metadata"]["annotations"] = {{"tranche.dev/gpu-memory", "12Gi"},
                                      {"tranche.dev/gpu-compute", "50"}};
  const Case cases[] = {
      {"a Pod", two_halves(), dra_fleet()},
      {"a Deployment", deployment(two_halves()), dra_fleet()},
      {"together", deployment(together), dra_fleet()},
      {"bytes", deployment(bytes), dra_fleet()},
      {"replicas", deployment(two_halves()), replica_fleet()},
      {"replicas that are called nvidia.com/gpu", deployment(two_halves()), whole_name_fleet()},
  };
  for (const auto& [name, manifest, fleet] : cases) {
    SCOPED_TRACE(name);
    const auto live = created(manifest, fleet);
    ASSERT_TRUE(live.is_object()) << live;
    const auto again = rewritten(live, fleet);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(again->patch, "[]");
    EXPECT_EQ(applied_again(live, manifest, fleet), live);
    // Without kubectl's annotation.
    const auto bare = admitted(manifest, fleet);
    auto merged = bare;
    merge_three_ways(merged, {}, manifest);
    EXPECT_EQ(admitted(merged, fleet), bare);
  }
}

TEST(RewriteAgain, ReturnsTheTemplatesOfARewrittenPod) {
  const auto again = rewritten(admitted(two_halves(), dra_fleet()), dra_fleet());
  ASSERT_EQ(again->templates.size(), 2U);
  EXPECT_EQ(again->templates[0].name, "tranche-gpu-50");
  EXPECT_EQ(again->templates[1].name, "tranche-gpu-25");
}

TEST(RewriteAgain, AnotherFractionGivesAnotherTemplate) {
  const auto live = created(deployment(pod({container("a", 0.5)})), dra_fleet());
  const auto after = applied_again(live, deployment(pod({container("a", 0.25)})), dra_fleet());
  const auto fresh = created(deployment(pod({container("a", 0.25)})), dra_fleet());
  EXPECT_EQ(after, fresh);
  EXPECT_EQ(after["spec"]["template"]["spec"]["resourceClaims"], json::parse(R"([
    {"name": "tranche-gpu-a", "resourceClaimTemplateName": "tranche-gpu-25"}])"));
}

TEST(RewriteAgain, FractionsRemovedFromTheManifestAreRemoved) {
  struct Case {
    const char* name;
    Fleet fleet;
    json manifest;  // applied over the two halves
    bool is_fresh;  // the same as a first creation
  };
  auto no_key = two_halves();
  no_key["spec"]["containers"][0]["resources"]["limits"].erase("nvidia.com/gpu");
  auto no_limits = two_halves();
  no_limits["spec"]["containers"][1].erase("resources");
  auto whole = two_halves();
  whole["spec"]["containers"][1] = container("b", 1);
  auto none = two_halves();
  none["spec"]["containers"][1] = container("b", 0);
  auto no_container = two_halves();
  no_container["spec"]["containers"].erase(1);
  auto nothing = pod({json{{"name", "a"}}, json{{"name", "b"}}});
  std::vector<Case> cases;
  for (const auto& fleet : {dra_fleet(), replica_fleet(), whole_name_fleet()}) {
    cases.push_back({"the key", fleet, no_key, false});
    cases.push_back({"all resources", fleet, no_limits, false});
    cases.push_back({"a whole one instead", fleet, whole, true});
    cases.push_back({"none instead", fleet, none, true});
    cases.push_back({"the container", fleet, no_container, true});
    cases.push_back({"all of it", fleet, nothing, false});
  }
  for (const auto& [name, fleet, manifest, is_fresh] : cases) {
    SCOPED_TRACE(name);
    SCOPED_TRACE(fleet.dra_models.empty() ? fleet.replicas[0].resource : "dra");
    const auto live = created(deployment(two_halves()), fleet);
    const auto after = applied_again(live, deployment(manifest), fleet);
    ASSERT_TRUE(after.is_object()) << after;
    auto fresh = created(deployment(manifest), fleet)["spec"]["template"];
    auto now = after["spec"]["template"];
    for (auto* one : {&fresh, &now}) {
      // To Kubernetes an empty mapping is the same as none.
      if (!one->contains("metadata") || (*one)["metadata"].is_null())
        (*one)["metadata"] = json::object();
      (*one)["metadata"].erase("name");
      for (auto& item : (*one)["spec"]["containers"]) {
        if (item.value("resources", json::object()).empty()) item.erase("resources");
      }
    }
    EXPECT_EQ(now, fresh);
    EXPECT_EQ(rewritten(after, fleet)->patch, "[]");
  }
}

TEST(RewriteAgain, AnEditedFractionIsNotARemovedOne) {
  // Applied without a fraction, then edited to have one: kubectl's annotation never has it.
  const auto bare = deployment(pod({json{{"name", "a"}}}));
  auto live = with_last_applied(bare, bare);
  live["spec"]["template"]["spec"]["containers"][0] = container("a", 0.5);
  live = admitted(live, dra_fleet());
  EXPECT_EQ(rewritten(live, dra_fleet())->patch, "[]");
}

TEST(RewriteAgain, AnOlderRevisionKeepsItsShare) {
  const auto with = deployment(pod({container("a", 0.5)}));
  const auto without = deployment(pod({json{{"name", "a"}}}));
  const auto first = created(with, dra_fleet());
  const auto second = applied_again(first, without, dra_fleet());
  EXPECT_FALSE(second["spec"]["template"]["spec"].contains("resourceClaims"));
  auto undone = second;  // `kubectl rollout undo` restores only the template
  undone["spec"]["template"] = first["spec"]["template"];
  EXPECT_EQ(rewritten(undone, dra_fleet(), second)->patch, "[]");
}

TEST(RewriteAgain, TogetherAndApart) {
  auto together = two_halves();
  together["metadata"]["annotations"]["tranche.dev/gpu-together"] = "true";
  auto live = created(deployment(two_halves()), dra_fleet());
  live = applied_again(live, deployment(together), dra_fleet());
  EXPECT_EQ(live, created(deployment(together), dra_fleet()));
  live = applied_again(live, deployment(two_halves()), dra_fleet());
  EXPECT_EQ(live["spec"]["template"]["spec"],
            created(deployment(two_halves()), dra_fleet())["spec"]["template"]["spec"]);
}

TEST(RewriteAgain, OneOfSeveralTogetherIsChanged) {
  auto together = two_halves();
  together["metadata"]["annotations"]["tranche.dev/gpu-together"] = "true";
  auto live = admitted(deployment(together), dra_fleet());
  live["spec"]["template"]["spec"]["containers"][1]["resources"]["limits"]["nvidia.com/gpu"] = 0.1;
  const auto after = admitted(live, dra_fleet())["spec"]["template"]["spec"];
  EXPECT_EQ(after["resourceClaims"], json::parse(R"([
    {"name": "tranche-gpu", "resourceClaimTemplateName": "tranche-gpu-together-50-10"}])"));
}

TEST(RewriteAgain, FollowsTheFleetWhenTheManifestIsAppliedAgain) {
  for (const auto& replicas : {replica_fleet(), whole_name_fleet()}) {
    SCOPED_TRACE(replicas.replicas[0].resource);
    const auto manifest = deployment(two_halves());
    const auto before = created(manifest, replicas);
    const auto kept = rewritten(before, dra_fleet());
    EXPECT_EQ(kept->patch, "[]");
    EXPECT_THAT(kept->warnings,
                ElementsAre(HasSubstr("though nodes are in mode dra now; apply its manifest again"),
                            HasSubstr("container \"b\" keeps one")));
    const auto after = applied_again(before, manifest, dra_fleet());
    EXPECT_EQ(after, created(manifest, dra_fleet()));
    EXPECT_EQ(applied_again(after, manifest, replicas), before);
  }
}

TEST(RewriteAgain, ImmutableObjectsKeepTheirClaims) {
  auto job = deployment(two_halves());
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  for (const auto& manifest : {two_halves(), job}) {
    for (const auto& first : {dra_fleet(), replica_fleet(), whole_name_fleet()}) {
      const auto live = created(manifest, first);
      for (const auto& later : {dra_fleet(), replica_fleet(), whole_name_fleet(), Fleet()}) {
        EXPECT_EQ(applied_again(live, manifest, later), live);
      }
    }
  }
}

TEST(RewriteAgain, WarnsThatAClaimFindsNoGpu) {
  const auto again = rewritten(admitted(two_halves(), dra_fleet()), replica_fleet());
  EXPECT_EQ(again->patch, "[]");
  EXPECT_THAT(again->templates, IsEmpty());
  EXPECT_THAT(again->warnings, ElementsAre(HasSubstr("container \"a\" has no GPU to claim"),
                                           HasSubstr("container \"b\" has no GPU to claim")));
}

TEST(RewriteAgain, FindsItsClaimWithoutTheRecord) {
  auto live = admitted(deployment(two_halves()), dra_fleet());
  const auto before = live["spec"]["template"]["spec"];
  live["spec"]["template"]["metadata"].erase("annotations");
  merge_three_ways(live, {}, deployment(two_halves()));
  EXPECT_EQ(admitted(live, dra_fleet())["spec"]["template"]["spec"], before);
}

TEST(RewriteAgain, FindsItsClaimWithoutTheRecordAlsoForAnotherShare) {
  auto live = admitted(deployment(two_halves()), dra_fleet());
  live["spec"]["template"]["metadata"].erase("annotations");
  EXPECT_EQ(admitted(live, dra_fleet()), admitted(deployment(two_halves()), dra_fleet()));
  live["spec"]["template"]["spec"]["containers"][1]["resources"]["limits"] = {
      {"nvidia.com/gpu", 0.75}};
  EXPECT_EQ(admitted(live, dra_fleet())["spec"]["template"]["spec"]["resourceClaims"],
            json::parse(R"([
    {"name": "tranche-gpu-a", "resourceClaimTemplateName": "tranche-gpu-50"},
    {"name": "tranche-gpu-b", "resourceClaimTemplateName": "tranche-gpu-75"}])"));
}

TEST(RewriteAgain, LeftoverReplicaRequestsAreRemoved) {
  auto live = admitted(deployment(pod({container("a", 0.5)})), whole_name_fleet());
  auto& spec = live["spec"]["template"]["spec"];
  spec["containers"][0]["resources"].erase("limits");
  EXPECT_EQ(admitted(live, whole_name_fleet())["spec"]["template"]["spec"]["containers"][0],
            json::parse(R"({"name": "a", "resources": {}})"));
}

TEST(RewriteAgain, ABoundPodCanBeAppliedAgain) {
  auto live = created(two_halves(), dra_fleet());
  live["spec"]["nodeName"] = "n1";
  EXPECT_EQ(applied_again(live, two_halves(), dra_fleet()), live);
}

TEST(RewriteAgain, ARecordDoesNotBindAPodToANode) {
  auto object = pod({container("a", 0.5)});
  object["spec"]["nodeName"] = "n1";
  object["metadata"]["annotations"][kRecord] = R"({"a":{"gpu":"0.5","claim":"tranche-gpu-a"}})";
  EXPECT_THAT(rewritten(object, dra_fleet()).error().message(),
              HasSubstr("the Pod names its node itself"));
}

TEST(RewriteAgain, TheRecordIsAHintOnly) {
  struct Case {
    const char* name;
    const char* record;
    bool is_warned;
  };
  const Case cases[] = {
      {"no JSON", "{", true},
      {"empty", "", true},
      {"of a container that is not there", R"({"x":{"gpu":"0.5","claim":"mine"}})", false},
      {"the user's claim", R"({"a":{"gpu":"0.5","claim":"mine"}})", false},
      {"a claim that is not there", R"({"a":{"gpu":"0.5","claim":"tranche-gpu-a"}})", false},
      {"another resource", R"({"a":{"gpu":"0.5","resource":"cpu"}})", true},
      {"a resource that it has not", R"({"a":{"gpu":"0.5","resource":"nvidia.com/gpu"}})", false},
  };
  for (const auto& [name, record, is_warned] : cases) {
    SCOPED_TRACE(name);
    auto object = pod({json{{"name", "a"}, {"resources", {{"limits", {{"cpu", "1"}}}}}}});
    object["spec"]["containers"][0]["resources"]["claims"] = {{{"name", "mine"}}};
    object["spec"]["resourceClaims"] = {
        {{"name", "mine"}, {"resourceClaimTemplateName", "half-gpu"}}};
    const auto without = object;
    object["metadata"]["annotations"][kRecord] = record;
    const auto result = rewritten(object, dra_fleet());
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(object.patch(json::parse(result->patch)), without);
    EXPECT_EQ(!result->warnings.empty(), is_warned);
  }
}

}  // namespace
}  // namespace tranche::admission::rewrite_again_test
