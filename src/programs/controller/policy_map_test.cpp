#include "controller/policy_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/formats/policy_annotations.h"

namespace tranche::controller::policy_map_test {
namespace {

using cluster::ClusterPolicy;
using cluster::kDefaultAnnotation;
using cluster::kFallbackAnnotation;
using cluster::kMigStrategyAnnotation;
using cluster::kWithholdAnnotation;
using testing::HasSubstr;

const cluster::ConfigMap kConfigs{
    .key = {"gpu", "time-slicing-config"},
    .data = {{"a100-40gb", "version: v1"}, {"tesla-t4", "version: v1"}}};
const MapContent kBefore{
    .data = {{"old", "version: v1"}},
    .annotations = {{kDefaultAnnotation, "old"}, {kFallbackAnnotation, "empty"}}};
const MapContent kUnshared{
    .annotations = {{kDefaultAnnotation, ""}, {kFallbackAnnotation, "empty"}}};

ClusterPolicy policy(std::optional<std::string> name = std::nullopt,
                     std::optional<std::string> wanted = std::nullopt,
                     std::optional<std::string> mig = std::nullopt) {
  return {.name = "cluster-policy",
          .config_name = std::move(name),
          .config_default = std::move(wanted),
          .mig_strategy = std::move(mig)};
}

struct Case {
  const char* name;
  std::optional<ClusterPolicy> policy;
  std::optional<cluster::ConfigMap> named = std::nullopt;
  MapContent map = {};
  bool applied = true;
  const char* reason = "";
  std::vector<const char*> said = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Decide : public testing::TestWithParam<Case> {};

TEST_P(Decide, MapAndCondition) {
  const auto& c = GetParam();
  PolicyFacts facts{.ns = "gpu", .out_name = "tranche-policy", .named = c.named, .now = kBefore};
  if (c.policy) facts.policy = *c.policy;
  const auto decision = decide(facts);
  EXPECT_EQ(decision.map, c.map);
  if (!c.policy) {
    EXPECT_TRUE(decision.conditions.empty());
    return;
  }
  ASSERT_EQ(decision.conditions.size(), 2U);
  const auto& outcome = decision.conditions[0];
  EXPECT_EQ(outcome.type, kAppliedCondition);
  EXPECT_EQ(outcome.is_true, c.applied);
  EXPECT_EQ(outcome.reason, c.reason);
  for (const auto* said : c.said) EXPECT_THAT(outcome.message, HasSubstr(said));
  EXPECT_EQ(decision.conditions[1].type, kUnservedCondition);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Decide,
    testing::Values(
        Case{.name = "NoPolicy", .policy = std::nullopt, .map = kUnshared},
        Case{.name = "EmptyPolicy",
             .policy = policy(),
             .map = kUnshared,
             .reason = "NoConfigNamed",
             .said = {"names no ConfigMap", "not shared"}},
        Case{.name = "EmptyTextsAreNotSet",
             .policy = policy("", "", ""),
             .map = kUnshared,
             .reason = "NoConfigNamed"},
        Case{.name = "DefaultWithoutName",
             .policy = policy(std::nullopt, "tesla-t4"),
             .map = kUnshared,
             .reason = "NoConfigNamed",
             .said = {"config.default (tesla-t4) has no effect"}},
        Case{.name = "NameAlone",
             .policy = policy("time-slicing-config"),
             .named = kConfigs,
             .map = {.data = kConfigs.data, .annotations = kUnshared.annotations},
             .reason = "ConfigFollowed",
             .said = {"gpu/time-slicing-config", "without the label GPUs are not shared"}},
        Case{.name = "NameAndDefault",
             .policy = policy("time-slicing-config", "a100-40gb"),
             .named = kConfigs,
             .map = {.data = kConfigs.data,
                     .annotations = {{kDefaultAnnotation, "a100-40gb"},
                                     {kFallbackAnnotation, "empty"}}},
             .reason = "ConfigFollowed",
             .said = {"without the label key a100-40gb"}},
        Case{.name = "MigStrategyAlone",
             .policy = policy(std::nullopt, std::nullopt, "mixed"),
             .map = {.annotations = {{kDefaultAnnotation, ""},
                                     {kFallbackAnnotation, "empty"},
                                     {kMigStrategyAnnotation, "mixed"}}},
             .reason = "NoConfigNamed",
             .said = {"MIG strategy mixed"}},
        Case{.name = "MigStrategyUnknown",
             .policy = policy("time-slicing-config", std::nullopt, "double"),
             .named = kConfigs,
             .map = kBefore,
             .applied = false,
             .reason = "MigStrategyUnknown",
             .said = {"'double'", "write none, single or mixed"}},
        Case{.name = "NamedMapMissing",
             .policy = policy("time-slicing-config", "a100-40gb"),
             .map = kBefore,
             .applied = false,
             .reason = "ConfigMapMissing",
             .said = {"gpu/time-slicing-config", "does not exist", "kubectl create configmap"}},
        Case{.name = "DefaultMissing",
             .policy = policy("time-slicing-config", "h100"),
             .named = kConfigs,
             .map = kBefore,
             .applied = false,
             .reason = "DefaultMissing",
             .said = {"no key h100", "it has a100-40gb, tesla-t4", "add the key or name another"}},
        Case{.name = "OurOwnMap",
             .policy = policy("tranche-policy"),
             .named = kConfigs,
             .map = kBefore,
             .applied = false,
             .reason = "ConfigMapIsTheControllers",
             .said = {"name one of your own"}}),
    [](const auto& test) { return std::string(test.param.name); });

struct ServingCase {
  const char* name;
  std::int64_t desired = 0;
  std::int64_t ready = 0;
  NodeReasons not_serving = {};
  const char* reason = "";
  std::vector<const char*> said = {};
};

TEST(Serving, APolicyIsAppliedWhileANodeServes) {
  const ServingCase cases[] = {
      {"all", 2, 2, {}, "ConfigFollowed", {}},
      {"one of two",
       2,
       2,
       {{"t4", "AnotherPlugin"}},
       "ConfigFollowed",
       {"; not on t4 (AnotherPlugin): condition TrancheServing"}},
      {"ready, and none serves",
       2,
       1,
       {{"t4", "AnotherPlugin"}},
       "NoNodeServes",
       {"0 of 2 nodes of DaemonSet gpu/tranche serve: t4 (AnotherPlugin): kubectl describe node"}},
      {"none is ready", 2, 0, {}, "NoNodeServes", {"none of its Pods is ready"}},
      {"no node", 0, 0, {}, "NoNodeServes", {"kubectl label node NODE"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    PolicyFacts facts{.ns = "gpu",
                      .out_name = "tranche-policy",
                      .policy = policy("time-slicing-config"),
                      .named = kConfigs,
                      .agents_name = "tranche",
                      .not_serving = c.not_serving};
    facts.agents = cluster::DaemonSet{.desired = c.desired, .ready = c.ready};
    const auto outcome = decide(facts).conditions[0];
    EXPECT_EQ(outcome.reason, c.reason);
    for (const auto* said : c.said) EXPECT_THAT(outcome.message, HasSubstr(said));
  }
}

TEST(Serving, AMessageNamesTenNodes) {
  PolicyFacts facts{.ns = "gpu", .out_name = "o", .policy = policy(), .agents_name = "tranche"};
  for (int i = 10; i < 22; ++i) facts.not_serving["n" + std::to_string(i)] = "SocketHeld";
  facts.agents = cluster::DaemonSet{.desired = 20, .ready = 20};
  EXPECT_THAT(decide(facts).conditions[0].message,
              HasSubstr("n19 (SocketHeld) and 2 more: condition"));
}

PolicyFacts withheld(MapContent now = {}) {
  return {.ns = "gpu",
          .out_name = "tranche-policy",
          .policy = policy("time-slicing-config", "a100-40gb"),
          .named = kConfigs,
          .operator_plugin = OperatorPlugin{"gpu/nvidia-device-plugin-daemonset", "cluster-policy"},
          .now = std::move(now)};
}

TEST(Withhold, SaysHowToHandOver) {
  const auto decision = decide(withheld());
  EXPECT_EQ(decision.map.data, kConfigs.data) << "ready for when the operator steps aside";
  const auto& why = decision.map.annotations.at(kWithholdAnnotation);
  EXPECT_THAT(why, HasSubstr("DaemonSet gpu/nvidia-device-plugin-daemonset"));
  EXPECT_THAT(why, HasSubstr("kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge "
                             "-p '{\"spec\":{\"devicePlugin\":{\"enabled\":false}}}'"));
  EXPECT_EQ(decision.conditions[0], (Condition{kAppliedCondition, false, "OperatorServes", why}));
}

TEST(Withhold, EndsAlsoWhenTheMapIsKept) {
  auto facts = withheld(decide(withheld()).map);
  facts.operator_plugin.reset();
  facts.named.reset();
  const auto decision = decide(facts);
  EXPECT_EQ(decision.conditions[0].reason, "ConfigMapMissing");
  EXPECT_EQ(decision.map.data, kConfigs.data);
  EXPECT_FALSE(decision.map.annotations.contains(kWithholdAnnotation));
}

TEST(Withhold, StaysWhileThePolicyCannotBeRead) {
  auto facts = withheld(decide(withheld()).map);
  facts.policy = fail(Code::kInvalidArgument, "ClusterPolicy: spec.mig is a number");
  const auto decision = decide(facts);
  EXPECT_EQ(decision.map, facts.now);
  ASSERT_EQ(decision.conditions.size(), 1U);
  EXPECT_EQ(decision.conditions[0].reason, "PolicyUnreadable");
  EXPECT_THAT(decision.conditions[0].message, HasSubstr("spec.mig is a number"));
}

cluster::DaemonSet plugin_of(const std::string& kind, const std::string& owner,
                             const std::string& api = "nvidia.com/v1") {
  return {.key = {"gpu", "nvidia-device-plugin-daemonset"},
          .owners = {{.api_version = api, .kind = kind, .name = owner, .uid = "u"}}};
}

struct PluginCase {
  const char* name;
  std::vector<cluster::DaemonSet> sets;
  std::optional<bool> enabled = std::nullopt;
  bool serves = false;
};

TEST(FindOperatorPlugin, WhoseAndWhetherWanted) {
  const PluginCase cases[] = {
      {"no DaemonSet", {}},
      {"the operator's, enabled by default", {plugin_of("ClusterPolicy", "p")}, std::nullopt, true},
      {"the operator's, enabled", {plugin_of("ClusterPolicy", "p")}, true, true},
      {"handed over", {plugin_of("ClusterPolicy", "p")}, false},
      {"ours, by Helm: no owner", {{.key = {"gpu", "tranche-agent"}}}},
      {"another kind of owner", {plugin_of("GPUCluster", "p")}},
      {"another group", {plugin_of("ClusterPolicy", "p", "amd.com/v1")}},
      {"its policy is gone", {plugin_of("ClusterPolicy", "q")}},
      {"the second of two", {{.key = {"a", "b"}}, plugin_of("ClusterPolicy", "p")}, true, true},
  };
  for (const auto& c : cases) {
    ClusterPolicy value{.name = "p", .device_plugin_enabled = c.enabled};
    const std::vector<PolicyObject> policies = {{"p", "2026-01-01T00:00:00Z", value}};
    const auto found = find_operator_plugin(c.sets, policies);
    EXPECT_EQ(found.has_value(), c.serves) << c.name;
    if (!found) continue;
    EXPECT_EQ(*found, (OperatorPlugin{"gpu/nvidia-device-plugin-daemonset", "p"})) << c.name;
  }
}

TEST(FindOperatorPlugin, AnUnreadablePolicyMayWantIt) {
  const std::vector<PolicyObject> policies = {{"p", "", fail(Code::kInvalidArgument, "x")}};
  const std::vector<cluster::DaemonSet> sets = {plugin_of("ClusterPolicy", "p")};
  EXPECT_TRUE(find_operator_plugin(sets, policies));
}

TEST(Oldest, ByAgeThenName) {
  EXPECT_EQ(oldest({}), nullptr);
  const std::vector<PolicyObject> policies = {{"c", "2026-01-02T00:00:00Z", ClusterPolicy{}},
                                              {"b", "2026-01-01T00:00:00Z", ClusterPolicy{}},
                                              {"a", "2026-01-01T00:00:00Z", ClusterPolicy{}}};
  EXPECT_EQ(oldest(policies)->name, "a");
}

TEST(Unserved, ListsEveryField) {
  EXPECT_EQ(unserved({}).is_true, false);
  const auto some = unserved({"driver.enabled", "toolkit.enabled"});
  EXPECT_TRUE(some.is_true);
  EXPECT_EQ(some.reason, "FieldsNotServed");
  EXPECT_THAT(some.message, HasSubstr("driver.enabled, toolkit.enabled"));
  const auto many = unserved(std::vector<std::string>(2000, std::string(40, 'x')));
  EXPECT_LE(many.message.size(), 32768U);
  EXPECT_THAT(many.message, testing::ContainsRegex(" and [0-9]+ more$"));
}

TEST(ContentOf, IgnoresAnnotationsOfOthers) {
  const auto content =
      content_of({.key = {"gpu", "m"},
                  .annotations = {{"meta.helm.sh/release-name", "x"}, {kDefaultAnnotation, "a"}},
                  .data = {{"a", "b"}}});
  EXPECT_EQ(content,
            (MapContent{.data = {{"a", "b"}}, .annotations = {{kDefaultAnnotation, "a"}}}));
}

TEST(MpsRoot, IsServedWhereThePodsHaveIt) {
  const auto unserved_by = [](const char* root, const char* installed) {
    auto asked = policy();
    asked.mps_root = root;
    const auto decision =
        decide({.ns = "gpu", .out_name = "out", .mps_root = installed, .policy = asked, .now = {}});
    return decision.conditions.at(1);
  };
  EXPECT_FALSE(unserved_by("/run/nvidia/mps", "/run/nvidia/mps").is_true);
  EXPECT_FALSE(unserved_by("/run/nvidia/mps/", "/run/nvidia/mps").is_true);
  EXPECT_FALSE(unserved_by("", "/run/nvidia/mps").is_true);
  const auto other = unserved_by("/srv/mps", "/run/nvidia/mps");
  EXPECT_TRUE(other.is_true);
  EXPECT_THAT(other.message, HasSubstr("devicePlugin.mps.root (it is /srv/mps, Tranche's is "
                                       "/run/nvidia/mps: install it with mps.root=/srv/mps)"));
  EXPECT_TRUE(unserved_by("/run/nvidia/mps", "").is_true);
}

}  // namespace
}  // namespace tranche::controller::policy_map_test
