// First rewrites: what becomes of which object, and what is refused. rewrite_again_test.cpp has the
// later ones.

#include "admission/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/yaml.h"
#include "support/admission.h"

namespace tranche::admission::rewrite_test {
namespace {

using namespace test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<ClaimTemplate>& templates) {
  std::vector<std::string> names;
  for (const auto& one : templates) names.push_back(one.name);
  return names;
}

json from_yaml(const yaml::Node& node) {
  if (node.kind == yaml::Kind::kScalar) {
    return yaml::is_text(node) ? json(node.scalar) : json::parse(node.scalar);
  }
  if (node.kind == yaml::Kind::kNull) return nullptr;
  auto value = node.kind == yaml::Kind::kMap ? json::object() : json::array();
  for (const auto& item : node.items) value.push_back(from_yaml(item));
  for (const auto& entry : node.entries) value[entry.key] = from_yaml(entry.value);
  return value;
}

json scenario(const std::string& file) {
  std::ifstream stream("tests/data/scenarios/fractions/" + file);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto document = yaml::parse(text, file);
  EXPECT_TRUE(document);
  return from_yaml(document->root);
}

TEST(Rewrite, HalfPodOfTheScenario) {
  const auto result = rewritten(scenario("half-pod.yaml"), dra_fleet());
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(json::parse(result->patch), json::parse(R"([
    {"op": "add", "path": "/metadata/annotations", "value":
      {"tranche.dev/gpu-fractions":
       "{\"my-container\":{\"gpu\":\"0.5\",\"claim\":\"tranche-gpu-my-container\"}}"}},
    {"op": "add", "path": "/spec/resourceClaims", "value":
      [{"name": "tranche-gpu-my-container", "resourceClaimTemplateName": "tranche-gpu-50"}]},
    {"op": "remove", "path": "/spec/containers/0/resources/limits"},
    {"op": "remove", "path": "/spec/containers/0/resources/requests"},
    {"op": "add", "path": "/spec/containers/0/resources/claims", "value":
      [{"name": "tranche-gpu-my-container"}]}])"));
  EXPECT_THAT(names(result->templates), ElementsAre("tranche-gpu-50"));
  EXPECT_THAT(result->warnings, IsEmpty());
}

TEST(Rewrite, ExclusivePodOfTheScenarioIsLeftAlone) {
  for (const auto& fleet : {dra_fleet(), replica_fleet(), Fleet()}) {
    const auto result = rewritten(scenario("exclusive-pod.yaml"), fleet);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->patch, "[]");
    EXPECT_THAT(result->templates, IsEmpty());
  }
}

TEST(Rewrite, KeepsTheRestOfTheContainer) {
  auto object = pod({container("main", "500m")});
  auto& resources = object["spec"]["containers"][0]["resources"];
  resources["limits"]["cpu"] = "2";
  resources["claims"] = {{{"name", "mine"}}};
  object["spec"]["resourceClaims"] = {{{"name", "mine"}, {"resourceClaimName", "c"}}};
  object["metadata"]["annotations"]["other"] = "stays";
  const auto result = rewritten(object, dra_fleet());
  EXPECT_EQ(json::parse(result->patch), json::parse(R"([
    {"op": "add", "path": "/metadata/annotations/tranche.dev~1gpu-fractions", "value":
       "{\"main\":{\"gpu\":\"0.5\",\"claim\":\"tranche-gpu-main\"}}"},
    {"op": "add", "path": "/spec/resourceClaims/-", "value":
      {"name": "tranche-gpu-main", "resourceClaimTemplateName": "tranche-gpu-50"}},
    {"op": "add", "path": "/spec/containers/0/resources/claims/-", "value":
      {"name": "tranche-gpu-main"}},
    {"op": "remove", "path": "/spec/containers/0/resources/limits/nvidia.com~1gpu"}])"));
}

TEST(Rewrite, FindsThePodTemplateOfEachKind) {
  struct Case {
    const char* version;
    const char* kind;
    const char* path;
  };
  const Case cases[] = {
      {"v1", "Pod", ""},
      {"v1", "ReplicationController", "/spec/template"},
      {"apps/v1", "Deployment", "/spec/template"},
      {"apps/v1", "ReplicaSet", "/spec/template"},
      {"apps/v1", "StatefulSet", "/spec/template"},
      {"apps/v1", "DaemonSet", "/spec/template"},
      {"batch/v1", "Job", "/spec/template"},
      {"batch/v1", "CronJob", "/spec/jobTemplate/spec/template"},
  };
  for (const auto& [version, kind, path] : cases) {
    SCOPED_TRACE(kind);
    json object = {{"apiVersion", version}, {"kind", kind}};
    const json::json_pointer place(path);
    object[place]["spec"] = pod({container("main", 0.5)})["spec"];
    object = admitted(object, dra_fleet());
    ASSERT_TRUE(object.is_object()) << object;
    EXPECT_EQ(object[place]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"],
              "tranche-gpu-50");
    EXPECT_TRUE(object[place]["metadata"]["annotations"].contains("tranche.dev/gpu-fractions"));
  }
}

TEST(Rewrite, RefusesOtherKinds) {
  for (const auto& [version, kind] :
       std::vector<std::pair<std::string, std::string>>{{"v1", "Service"},
                                                        {"batch.volcano.sh/v1alpha1", "Job"},
                                                        {"v1", "Deployment"},
                                                        {"", "Pod"}}) {
    SCOPED_TRACE(kind);
    const auto result = rewritten({{"apiVersion", version}, {"kind", kind}}, dra_fleet());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kUnsupported);
  }
  EXPECT_FALSE(rewritten(json::array(), dra_fleet()));
  EXPECT_FALSE(rewritten(nullptr, dra_fleet()));
}

TEST(Rewrite, EachContainerHasAClaimOfItsOwn) {
  auto object = pod({container("a", 0.5), container("b", "0.25"), container("whole", 1)});
  object["spec"]["initContainers"] = {container("init", 0.5), container("sidecar", 0.1)};
  object["spec"]["initContainers"][1]["restartPolicy"] = "Always";
  const auto result = rewritten(object, dra_fleet());
  const auto after = admitted(object, dra_fleet());
  EXPECT_EQ(after["spec"]["resourceClaims"], json::parse(R"([
    {"name": "tranche-gpu-init", "resourceClaimTemplateName": "tranche-gpu-50"},
    {"name": "tranche-gpu-sidecar", "resourceClaimTemplateName": "tranche-gpu-10"},
    {"name": "tranche-gpu-a", "resourceClaimTemplateName": "tranche-gpu-50"},
    {"name": "tranche-gpu-b", "resourceClaimTemplateName": "tranche-gpu-25"}])"));
  EXPECT_EQ(after["spec"]["containers"][1]["resources"],
            json::parse(R"({"claims": [{"name": "tranche-gpu-b"}]})"));
  EXPECT_EQ(after["spec"]["containers"][2], object["spec"]["containers"][2]);
  EXPECT_THAT(names(result->templates),
              ElementsAre("tranche-gpu-50", "tranche-gpu-10", "tranche-gpu-25"));
}

TEST(Rewrite, NamesOfClaimsAreUnusedLabels) {
  const std::string long_name(63, 'x');
  auto object = pod({container("main", 0.5), container(long_name, 0.5)});
  object["spec"]["resourceClaims"] = {
      {{"name", "tranche-gpu-main"}, {"resourceClaimTemplateName", "half-gpu"}},
      {{"name", "tranche-gpu-main-2"}, {"resourceClaimName", "mine"}}};
  const auto claims = admitted(object, dra_fleet())["spec"]["resourceClaims"];
  ASSERT_EQ(claims.size(), 4U);
  EXPECT_EQ(claims[0], object["spec"]["resourceClaims"][0]);
  EXPECT_EQ(claims[1], object["spec"]["resourceClaims"][1]);
  EXPECT_EQ(claims[2]["name"], "tranche-gpu-main-3");
  const auto name = claims[3]["name"].get<std::string>();
  EXPECT_LE(name.size(), 63U);
  EXPECT_TRUE(name.starts_with("tranche-gpu-xxx")) << name;
}

TEST(Rewrite, OneGpuForAllByAnnotation) {
  auto object = pod({container("a", 0.5), container("b", 0.25)});
  object["metadata"]["annotations"]["tranche.dev/gpu-together"] = "true";
  const auto after = admitted(object, dra_fleet());
  EXPECT_EQ(after["spec"]["resourceClaims"], json::parse(R"([
    {"name": "tranche-gpu", "resourceClaimTemplateName": "tranche-gpu-together-50-25"}])"));
  EXPECT_EQ(after["spec"]["containers"][0]["resources"]["claims"],
            json::parse(R"([{"name": "tranche-gpu", "request": "gpu-0"}])"));
  EXPECT_EQ(after["spec"]["containers"][1]["resources"]["claims"],
            json::parse(R"([{"name": "tranche-gpu", "request": "gpu-1"}])"));
}

TEST(Rewrite, TogetherWithOneContainer) {
  auto object = pod({container("a", 0.5), container("whole", 1)});
  object["metadata"]["annotations"]["tranche.dev/gpu-together"] = "true";
  EXPECT_EQ(admitted(object, dra_fleet())["spec"]["resourceClaims"], json::parse(R"([
    {"name": "tranche-gpu-a", "resourceClaimTemplateName": "tranche-gpu-50"}])"));
}

TEST(Rewrite, BytesByAnnotation) {
  auto object = pod({container("a", 1)});
  object["metadata"]["annotations"] = {{"tranche.dev/gpu-memory", "12Gi"},
                                       {"tranche.dev/gpu-compute", "50"}};
  const auto after = admitted(object, dra_fleet());
  EXPECT_EQ(after["spec"]["resourceClaims"][0]["resourceClaimTemplateName"], "tranche-gpu-12gi-50");
  EXPECT_EQ(after["metadata"]["annotations"]["tranche.dev/gpu-fractions"],
            R"({"a":{"gpu":"1","claim":"tranche-gpu-a"}})");
}

TEST(Rewrite, ReplicasIfNoNodeHasClaims) {
  auto object = pod({container("a", 0.5), container("b", 0.2)});
  object["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = 0.5;
  const auto result = rewritten(object, replica_fleet());
  const auto after = admitted(object, replica_fleet());
  EXPECT_EQ(after["spec"]["containers"][0]["resources"], json::parse(R"({
    "limits": {"nvidia.com/gpu.shared": "1"}, "requests": {"nvidia.com/gpu.shared": "1"}})"));
  EXPECT_EQ(after["spec"]["containers"][1]["resources"], json::parse(R"({
    "limits": {"nvidia.com/gpu.small": "1"}, "requests": {"nvidia.com/gpu.small": "1"}})"));
  EXPECT_FALSE(after["spec"].contains("resourceClaims"));
  EXPECT_THAT(result->templates, IsEmpty());
  EXPECT_THAT(result->warnings,
              ElementsAre(HasSubstr("container \"b\" asks for 0.2 of a GPU and gets more: one "
                                    "nvidia.com/gpu.small, which is 0.25 of a GPU")));
}

TEST(Rewrite, LeavesAnObjectThatIsBeingDeleted) {
  auto object = pod({container("a", 0.505)});
  object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(rewritten(object, {})->patch, "[]");
}

TEST(Rewrite, RefusesWithTheReason) {
  struct Case {
    const char* name;
    const char* json;  // merged into a Pod whose container "a" requests 0.5
    Fleet fleet;
    Code code;
    const char* message;
  };
  const Case cases[] = {
      {"no fleet", "{}", {}, Code::kFailedPrecondition, "tranche.dev/mode=dra"},
      {"together on replicas",
       R"({"metadata":{"annotations":{"tranche.dev/gpu-together":"true"}},
           "spec":{"initContainers":[{"name":"b","resources":{"limits":{"nvidia.com/gpu":0.5}}}]}})",
       replica_fleet(), Code::kFailedPrecondition,
       "tranche.dev/gpu-together needs shares that are claimed, and no node"},
      {"together is no word", R"({"metadata":{"annotations":{"tranche.dev/gpu-together":"yes"}}})",
       dra_fleet(), Code::kInvalidArgument,
       "tranche.dev/gpu-together is 'yes'; write \"true\" or \"false\""},
      {"two of one name", R"({"spec":{"initContainers":[{"name":"a"}]}})", dra_fleet(),
       Code::kInvalidArgument, "two containers have the same name"},
      {"a node by name", R"({"spec":{"nodeName":"n1"}})", dra_fleet(), Code::kFailedPrecondition,
       "the Pod names its node itself; remove spec.nodeName"},
      {"the replica beside the fraction",
       R"({"spec":{"containers":[{"name":"a","resources":
           {"limits":{"nvidia.com/gpu":0.5,"nvidia.com/gpu.shared":1}}}]}})",
       replica_fleet(), Code::kInvalidArgument,
       "asks for a part of nvidia.com/gpu, and for nvidia.com/gpu.shared too"},
      {"another kind of value", R"({"spec":{"resourceClaims":"none"}})", dra_fleet(),
       Code::kInvalidArgument, "spec.resourceClaims is a text where a list is expected"},
      {"annotations of another kind", R"({"metadata":{"annotations":[]}})", dra_fleet(),
       Code::kInvalidArgument, "metadata.annotations is a list"},
  };
  for (const auto& [name, text, fleet, code, message] : cases) {
    SCOPED_TRACE(name);
    auto object = pod({container("a", 0.5)});
    object.merge_patch(json::parse(text));
    const auto result = rewritten(object, fleet);
    ASSERT_FALSE(result) << result->patch;
    EXPECT_EQ(result.error().code, code);
    EXPECT_THAT(result.error().message(), HasSubstr(message));
  }
}

TEST(Rewrite, BoundsTheNumberOfShares) {
  std::vector<json> containers;
  for (int i = 0; i < 129; ++i) containers.push_back(container("c" + std::to_string(i), 0.01));
  EXPECT_THAT(rewritten(pod(containers), dra_fleet()).error().message(),
              HasSubstr("129 containers ask for a part of a GPU; 128 are allowed"));
}

}  // namespace
}  // namespace tranche::admission::rewrite_test
