#include "cluster/formats/gpu_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace tranche::cluster::gpu_tier_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A tier with this mechanism, fit for publication otherwise.
GpuTier tier_of(TierMechanism mechanism) {
  GpuTier tier;
  tier.name = "t";
  tier.mechanism = std::move(mechanism);
  tier.isolation = "none in memory";
  tier.namespaces.names = {"team-a"};
  tier.support = "office hours";
  return tier;
}

constexpr const char* kWhole = R"({
  "apiVersion":"tranche.dev/v1alpha1","kind":"GPUTier",
  "metadata":{"name":"mig-inference","uid":"u","resourceVersion":"7","generation":3},
  "spec":{
    "eligibility":{"nodeSelector":{"matchLabels":{"pool":"inference"},
                     "matchExpressions":[{"key":"nvidia.com/mig.capable","operator":"Exists"}]},
                   "models":["NVIDIA-A100-SXM4-80GB"]},
    "mechanism":{"mig":{"profile":"1g.10gb+me"}},
    "isolation":"own memory and own compute slices",
    "namespaces":{"names":["team-a"],"selector":{"matchLabels":{"tier":"inference"}}},
    "quotas":[{"namespace":"team-a","limit":8},{"limit":2}],
    "priorityClass":"inference",
    "support":"incident line, day and night",
    "maxWaitSeconds":1800},
  "status":{"conditions":[{"type":"Ready","status":"True","reason":"Published","message":"m",
    "lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":3}]}})";

TEST(GpuTier, IsReadWholeAndWrittenAsRead) {
  const auto tier = parse_gpu_tier(kWhole);
  ASSERT_TRUE(tier) << tier.error().what;
  EXPECT_EQ(tier->name, "mig-inference");
  EXPECT_EQ(tier->uid, "u");
  EXPECT_EQ(tier->resource_version, "7");
  EXPECT_EQ(tier->generation, 3);
  EXPECT_EQ(tier->eligibility.node_selector,
            (LabelSelector{{{"pool", "inference"}}, {{"nvidia.com/mig.capable", "Exists"}}}));
  EXPECT_THAT(tier->eligibility.models, ElementsAre("NVIDIA-A100-SXM4-80GB"));
  EXPECT_EQ(tier->mechanism, TierMechanism(MigTier{"1g.10gb+me"}));
  EXPECT_EQ(tier->resource, std::nullopt);
  EXPECT_EQ(tier->isolation, "own memory and own compute slices");
  EXPECT_THAT(tier->namespaces.names, ElementsAre("team-a"));
  EXPECT_THAT(tier->quotas, ElementsAre(TierQuota{"team-a", 8}, TierQuota{std::nullopt, 2}));
  EXPECT_EQ(tier->priority_class, "inference");
  EXPECT_EQ(tier->support, "incident line, day and night");
  EXPECT_THAT(tier->conditions, ElementsAre(TierCondition{"Ready", "True", "Published", "m",
                                                          "2026-01-01T00:00:00Z", 3}));
  EXPECT_THAT(validate(*tier), IsEmpty());
  EXPECT_EQ(json::parse(to_json(*tier)), json::parse(kWhole));
}

// The cases that the schema is tested with as well (tests/e2e/test_schemas.py): what is valid for
// one is valid for the other.
json published_cases() {
  std::ifstream file("tests/data/gpu-tiers.json");
  return json::parse(file);
}

TEST(GpuTier, WhatTheSchemaTakesIsFit) {
  const json cases = published_cases();
  for (const auto& c : cases.at("fit")) {
    const auto tier = parse_gpu_tier(c["tier"].dump());
    ASSERT_TRUE(tier) << c["name"] << tier.error().what;
    EXPECT_THAT(validate(*tier), IsEmpty()) << c["name"];
    EXPECT_EQ(json::parse(to_json(*tier)), c["tier"]) << c["name"];
  }
}

TEST(GpuTier, WhatTheSchemaRefusesIsUnfit) {
  const json cases = published_cases();
  for (const auto& c : cases.at("unfit")) {
    const auto tier = parse_gpu_tier(c["tier"].dump());
    const auto why = HasSubstr(c["why"].get<std::string>());
    if (tier) {
      EXPECT_THAT(validate(*tier), testing::Contains(why)) << c["name"];
    } else {
      EXPECT_THAT(tier.error().what, why) << c["name"];
    }
  }
}

TEST(GpuTier, Mechanisms) {
  const struct {
    const char* text;
    TierMechanism mechanism;
    const char* resource;
  } cases[] = {
      {R"({"exclusive":{}})", ExclusiveTier{}, "nvidia.com/gpu"},
      {R"({"mig":{"profile":"1g.10gb+me"}})", MigTier{"1g.10gb+me"}, "nvidia.com/mig-1g.10gb.me"},
      {R"({"timeSlicing":{"replicas":4}})", TimeSlicingTier{4}, "nvidia.com/gpu.shared"},
      {R"({"mps":{"replicas":48}})", MpsTier{48}, "nvidia.com/gpu.shared"},
      {R"({"topologyAligned":{}})", TopologyAlignedTier{}, "nvidia.com/gpu"},
  };
  for (const auto& c : cases) {
    auto text = json::parse(to_json(tier_of(ExclusiveTier{})));
    text["spec"]["mechanism"] = json::parse(c.text);
    const auto tier = parse_gpu_tier(text.dump());
    ASSERT_TRUE(tier) << c.text << ": " << tier.error().what;
    EXPECT_EQ(*tier, tier_of(c.mechanism)) << c.text;
    EXPECT_EQ(json::parse(to_json(*tier)), text);
    EXPECT_EQ(resource_of(*tier), c.resource);
    EXPECT_THAT(validate(*tier), IsEmpty()) << c.text;
  }
  auto named = tier_of(TimeSlicingTier{4});
  named.resource = "nvidia.com/gpu.notebook";
  EXPECT_EQ(resource_of(named), "nvidia.com/gpu.notebook");
  EXPECT_EQ(parse_gpu_tier(to_json(named)), named);
}

TEST(GpuTier, RefusedWithThePathOfTheField) {
  const struct {
    const char* name;
    const char* spec;  // with a mechanism added, if it has none
    const char* why;
  } cases[] = {
      {"no mechanism", R"({})", "GPUTier: spec.mechanism has 0 entries where exactly one of"},
      {"two", R"({"mechanism":{"mig":{},"mps":{}}})", "spec.mechanism has 2 entries"},
      {"unknown one", R"({"mechanism":{"fraction":{}}})",
       "spec.mechanism.fraction is none of exclusive, mig, timeSlicing, mps, topologyAligned"},
      {"type of a mechanism", R"({"mechanism":{"mig":"1g.10gb"}})", "spec.mechanism.mig is a text"},
      {"field of a mechanism", R"({"mechanism":{"exclusive":{"replicas":2}}})",
       "spec.mechanism.exclusive.replicas is no field"},
      {"replicas", R"({"mechanism":{"mps":{"replicas":2.5}}})",
       "spec.mechanism.mps.replicas is 2.5, no whole number"},
      {"misspelt", R"({"mechanism":{"exclusive":{}},"namspaces":{}})",
       "spec.namspaces is no field that this release knows; known are eligibility"},
      {"misspelt below", R"({"mechanism":{"exclusive":{}},"namespaces":{"name":["a"]}})",
       "spec.namespaces.name is no field"},
      {"names", R"({"mechanism":{"exclusive":{}},"namespaces":{"names":"a"}})",
       "spec.namespaces.names is a text where a list is expected"},
      {"model", R"({"mechanism":{"exclusive":{}},"eligibility":{"models":[1]}})",
       "spec.eligibility.models has a number where a text is expected"},
      {"expression", R"({"mechanism":{"exclusive":{}},"namespaces":{"selector":{
          "matchExpressions":[{"key":1}]}}})",
       "spec.namespaces.selector.matchExpressions[0].key is a number"},
      {"quota", R"({"mechanism":{"exclusive":{}},"quotas":[{"limit":1},{"namespace":"a"}]})",
       "spec.quotas[1].limit is missing"},
      {"text", R"({"mechanism":{"exclusive":{}},"isolation":true})", "spec.isolation is"},
  };
  for (const auto& c : cases) {
    const auto tier =
        parse_gpu_tier(std::string(R"({"metadata":{"name":"t"},"spec":)") + c.spec + "}");
    ASSERT_FALSE(tier) << c.name;
    EXPECT_EQ(tier.error().code, Code::kInvalidArgument) << c.name;
    EXPECT_THAT(tier.error().what, HasSubstr(c.why)) << c.name;
  }
}

TEST(GpuTier, Validate) {
  const auto changed = [](TierMechanism mechanism, const auto& change) {
    auto tier = tier_of(std::move(mechanism));
    change(tier);
    return tier;
  };
  const auto none = [](GpuTier&) {};
  const struct {
    const char* name;
    GpuTier tier;
    std::vector<std::string> problems;
  } cases[] = {
      {"fit", tier_of(ExclusiveTier{}), {}},
      {"no profile",
       changed(MigTier{}, none),
       {"spec.mechanism.mig.profile is \"\", no MIG profile such as 1g.10gb"}},
      {"compute instance",
       changed(MigTier{"1c.2g.10gb"}, none),
       {"spec.mechanism.mig.profile is \"1c.2g.10gb\", no MIG profile such as 1g.10gb"}},
      {"resource for a profile",
       changed(MigTier{"mig-1g.10gb"}, none),
       {"spec.mechanism.mig.profile is \"mig-1g.10gb\", no MIG profile such as 1g.10gb"}},
      {"not shared",
       changed(TimeSlicingTier{1}, none),
       {"spec.mechanism.timeSlicing.replicas is 1; a shared GPU has 2 at least (one to itself: "
        "exclusive)"}},
      {"too many clients",
       changed(MpsTier{49}, none),
       {"spec.mechanism.mps.replicas is 49; MPS serves 48 at most"}},
      {"resource without domain",
       changed(ExclusiveTier{}, [](GpuTier& tier) { tier.resource = "gpu"; }),
       {"spec.resource is \"gpu\", no extended resource such as nvidia.com/gpu"}},
      {"nothing told",
       changed(ExclusiveTier{},
               [](GpuTier& tier) {
                 tier.isolation = " \n";
                 tier.support = "";
               }),
       {"spec.isolation is empty; say what separates users of the same GPU",
        "spec.support is empty; say what users may expect of support"}},
      {"names",
       changed(ExclusiveTier{},
               [](GpuTier& tier) {
                 tier.namespaces.names = {"a", "a"};
                 tier.eligibility.models = {""};
               }),
       {"spec.eligibility.models has an empty entry", "spec.namespaces.names has a twice"}},
      {"selectors",
       changed(ExclusiveTier{},
               [](GpuTier& tier) {
                 tier.eligibility.node_selector = LabelSelector{{}, {{"a", "In"}}};
                 tier.namespaces.selector = LabelSelector{{}, {{"", "Exists"}}};
               }),
       {"spec.eligibility.nodeSelector.matchExpressions[0].values must not be empty with the "
        "operator In",
        "spec.namespaces.selector.matchExpressions[0].key is missing"}},
      {"quotas",
       changed(ExclusiveTier{},
               [](GpuTier& tier) {
                 tier.quotas = {{"team-a", -1}, {"team-a", 1}, {"team-b", 1}, {{}, 1}, {{}, 2}};
               }),
       {"spec.quotas[0].limit is -1", "spec.quotas[1] is a second rule for namespace team-a",
        "spec.quotas[2].namespace is team-b, which spec.namespaces does not allow",
        "spec.quotas[4] is a second rule without a namespace"}},
      {"a selector may allow the namespace of a quota",
       changed(ExclusiveTier{},
               [](GpuTier& tier) {
                 tier.namespaces.selector = LabelSelector{{{"gpu", "yes"}}};
                 tier.quotas = {{"team-b", 1}};
               }),
       {}},
  };
  for (const auto& c : cases) EXPECT_EQ(validate(c.tier), c.problems) << c.name;
}

TEST(GpuTier, ProfilesOfADriver) {
  for (const auto* profile :
       {"1g.5gb", "7g.80gb", "1g.10gb+me", "1g.24gb+me.all", "4g.96gb-me", "1g.24gb+gfx"}) {
    EXPECT_THAT(validate(tier_of(MigTier{profile})), IsEmpty()) << profile;
  }
  for (const auto* profile :
       {"1g", "g.10gb", "0g.10gb", "1g.10", "1g.10gb+", "1g.10gb.me", "1G.10GB"}) {
    EXPECT_EQ(validate(tier_of(MigTier{profile})).size(), 1U) << profile;
  }
}

TEST(GpuTier, WhoMayUseItAndHowMuch) {
  auto tier = tier_of(ExclusiveTier{});
  EXPECT_TRUE(allows(tier, "team-a", {}));
  EXPECT_FALSE(allows(tier, "team-b", {{"gpu", "yes"}}));
  EXPECT_EQ(limit_of(tier, "team-a"), std::nullopt);
  tier.namespaces.selector = LabelSelector{{{"gpu", "yes"}}};
  EXPECT_TRUE(allows(tier, "team-b", {{"gpu", "yes"}}));
  EXPECT_FALSE(allows(tier, "team-c", {}));
  tier.quotas = {{std::nullopt, 2}, {"team-a", 8}};
  EXPECT_EQ(limit_of(tier, "team-a"), 8);
  EXPECT_EQ(limit_of(tier, "team-b"), 2);
  tier.namespaces = {};
  EXPECT_FALSE(allows(tier, "team-a", {})) << "a tier without namespaces allows nobody";
  tier.namespaces.selector = LabelSelector();
  EXPECT_TRUE(allows(tier, "team-z", {})) << "an empty selector selects all";
}

}  // namespace
}  // namespace tranche::cluster::gpu_tier_test
