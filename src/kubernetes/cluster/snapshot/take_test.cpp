// take(): a snapshot from an API server, and the gaps for what it does not report.

#include "cluster/snapshot/take.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "cluster/snapshot/encoding.h"
#include "support/fake_objects.h"

namespace tranche::cluster::snapshot_take_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const auto kNow = *parse_time("2026-01-31T12:00:00Z");

TakeOptions options() {
  TakeOptions options;
  options.now = kNow;
  options.server = "https://10.0.0.1:6443";
  options.taken_by = "tranche test";
  return options;
}

void put_nodes(test::FakeObjects& api) {
  api.put(kNode, R"({"metadata":{"name":"gpu1","annotations":{"tranche.dev/mig-change":"{}","a":"b",
      "kubectl.kubernetes.io/last-applied-configuration":"{}"}},
    "status":{"capacity":{"nvidia.com/gpu":"0"},"conditions":[{"type":"TrancheConfigured",
      "status":"True","reason":"ConfigApplied","message":"ConfigMap gpu/configs, key training"}]}})");
  api.put(kNode, R"({"metadata":{"name":"gpu2","labels":{"nvidia.com/gpu.present":"true"}},
    "status":{"conditions":[{"type":"TrancheConfigured","status":"False",
      "reason":"ConfigRefused","message":"line 3: no such key"}]}})");
  api.put(kNode, R"({"metadata":{"name":"plain","labels":{"nvidia.com/gpu.present":"false"}},
    "status":{"capacity":{"nvidia.community/x":"1"}}})");
}

void put_pod(test::FakeObjects& api, const std::string& name, const std::string& spec) {
  api.put(kPod, R"({"metadata":{"namespace":"team","name":")" + name + R"("},"spec":)" + spec +
                    R"(,"status":{"phase":"Running"}})");
}

std::vector<std::string> names_of(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& pod : snapshot.pods) names.push_back(pod.pod.name);
  return names;
}

std::vector<std::string> gaps_of(const Snapshot& snapshot) {
  std::vector<std::string> gaps;
  for (const auto& gap : snapshot.gaps) gaps.push_back(gap.resource + ' ' + gap.name);
  return gaps;
}

TEST(TakeSnapshot, NodesAndWhatTheirAgentsSay) {
  test::FakeObjects api;
  put_nodes(api);
  const auto snapshot = take(api, options());
  ASSERT_TRUE(snapshot) << snapshot.error().what;
  EXPECT_EQ(snapshot->taken_at, kNow);
  EXPECT_EQ(snapshot->server, "https://10.0.0.1:6443");
  ASSERT_EQ(snapshot->nodes.size(), 3U);
  const auto& applied = snapshot->nodes[0];
  EXPECT_THAT(applied.node.annotations, ElementsAre(Pair("tranche.dev/mig-change", "{}")));
  ASSERT_TRUE(applied.configuration);
  EXPECT_EQ(applied.configuration->origin, "ConfigMap gpu/configs, key training");
  const auto& refused = snapshot->nodes[1];
  ASSERT_TRUE(refused.configuration);
  EXPECT_EQ(refused.configuration->origin, std::nullopt);
  EXPECT_EQ(refused.configuration->condition.message, "line 3: no such key");
  EXPECT_EQ(snapshot->nodes[2].configuration, std::nullopt);
  EXPECT_THAT(gaps_of(*snapshot), ElementsAre("configmaps gpu/configs"))
      << "the agent says that it follows it, and it is gone";
  EXPECT_EQ(decode(encode(*snapshot)), *snapshot);
}

TEST(TakeSnapshot, PodsThatConcernGpus) {
  test::FakeObjects api;
  put_nodes(api);
  put_pod(api, "asks", R"({"nodeName":"plain","priority":7,"priorityClassName":"high",
    "nodeSelector":{"pool":"a"},"tolerations":[{"key":"k","operator":"Exists"}],
    "affinity":{"podAntiAffinity":{}, "nodeAffinity":{}},
    "containers":[{"name":"c","resources":{"limits":{"nvidia.com/mig-1g.10gb":1}}}]})");
  put_pod(api, "claims", R"({"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}]})");
  put_pod(api, "on-gpu-node", R"({"nodeName":"gpu1"})");
  put_pod(api, "on-labelled-node", R"({"nodeName":"gpu2"})");
  put_pod(api, "elsewhere", R"({"nodeName":"plain","containers":[{"name":"c",
    "resources":{"limits":{"nvidia.community/x":1,"cpu":"1"}}}]})");
  put_pod(api, "nowhere", R"({})");
  auto snapshot = take(api, options());
  ASSERT_TRUE(snapshot) << snapshot.error().what;
  EXPECT_THAT(names_of(*snapshot),
              ElementsAre("asks", "claims", "on-gpu-node", "on-labelled-node"));
  const auto& asks = snapshot->pods[0];
  EXPECT_EQ(asks.priority, 7);
  EXPECT_EQ(asks.pod.priority_class, "high");
  EXPECT_EQ(asks.created, "2026-01-01T00:00:00Z");
  EXPECT_THAT(asks.pod.node_selector, ElementsAre(Pair("pool", "a")));
  EXPECT_THAT(asks.tolerations, ElementsAre(Toleration{"k", "Exists", "", ""}));
  EXPECT_EQ(asks.affinity, R"({"nodeAffinity":{},"podAntiAffinity":{}})");
  EXPECT_THAT(snapshot->pods[1].pod.claims, ElementsAre(PodClaim{"gpu", "", "t"}));
  EXPECT_EQ(decode(encode(*snapshot)), *snapshot);

  // If it is unknown which nodes have GPUs, no running Pod is omitted.
  api.refuse("list", kNode, {Code::kPermission, "nodes is forbidden"});
  snapshot = take(api, options());
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(names_of(*snapshot),
              ElementsAre("asks", "claims", "elsewhere", "on-gpu-node", "on-labelled-node"));
}

TEST(TakeSnapshot, PoliciesTiersQuotasBudgets) {
  test::FakeObjects api;
  api.put(kClusterPolicy, R"({"metadata":{"name":"cp"},
    "spec":{"devicePlugin":{"config":{"name":"configs"}}}})");
  api.put(kConfigMap, R"({"metadata":{"namespace":"operator","name":"configs"},"data":{"a":"b"}})");
  api.put(kConfigMap, R"({"metadata":{"namespace":"mine","name":"m"},"data":{"c":"d"}})");
  api.put(kConfigMap, R"({"metadata":{"namespace":"mine","name":"private"},"data":{"e":"f"}})");
  api.put(kGpuTier, R"({"metadata":{"name":"t"},"spec":{"mechanism":{"exclusive":{}}}})");
  api.put(kNamespace, R"({"metadata":{"name":"team","labels":{"gpu":"yes"}}})");
  api.put(kResourceQuota, R"({"metadata":{"namespace":"team","name":"q"},
    "spec":{"hard":{"requests.nvidia.com/gpu":"4","pods":"9","requests.nvidia.community/x":"1",
                    "big.deviceclass.resource.k8s.io/devices":"1"},
      "scopeSelector":{"matchExpressions":[
        {"scopeName":"PriorityClass","operator":"In","values":["low"]}]}},
    "status":{"used":{"requests.nvidia.com/gpu":"2","pods":"3"}}})");
  api.put(kResourceQuota, R"({"metadata":{"namespace":"team","name":"none"},
    "spec":{"hard":{"pods":"9"}}})");
  api.put(kPodDisruptionBudget, R"({"metadata":{"namespace":"team","name":"b"},
    "spec":{"selector":{"matchLabels":{"app":"x"}}},"status":{"disruptionsAllowed":1}})");
  auto wanted = options();
  wanted.config_maps = {{"mine", "m"}};
  wanted.policy_namespace = "operator";
  const auto snapshot = take(api, wanted);
  ASSERT_TRUE(snapshot) << snapshot.error().what;
  EXPECT_EQ(snapshot->cluster_policies.at(0).config_name, "configs");
  ASSERT_EQ(snapshot->config_maps.size(), 2U);
  EXPECT_EQ(snapshot->config_maps[0].key.to_string(), "mine/m");
  EXPECT_THAT(snapshot->config_maps[1].data, ElementsAre(Pair("a", "b")));
  EXPECT_EQ(snapshot->tiers.at(0).name, "t");
  EXPECT_THAT(snapshot->namespaces, ElementsAre(SnapshotNamespace{"team", {{"gpu", "yes"}}}));
  ASSERT_EQ(snapshot->quotas.size(), 1U);
  EXPECT_THAT(snapshot->quotas[0].hard,
              ElementsAre(Pair("big.deviceclass.resource.k8s.io/devices", "1"),
                          Pair("requests.nvidia.com/gpu", "4")));
  EXPECT_THAT(snapshot->quotas[0].used, ElementsAre(Pair("requests.nvidia.com/gpu", "2")));
  EXPECT_THAT(snapshot->quotas[0].scope_expressions,
              ElementsAre(SelectorExpression{"PriorityClass", "In", {"low"}}));
  EXPECT_THAT(snapshot->budgets,
              ElementsAre(DisruptionBudget{{"team", "b"}, LabelSelector{{{"app", "x"}}}, 1}));
  EXPECT_EQ(decode(encode(*snapshot)), *snapshot);
}

TEST(TakeSnapshot, WhatFailsIsAGap) {
  test::FakeObjects api;
  put_nodes(api);
  api.refuse("list", kPod, {Code::kPermission, "pods is forbidden", "grant list on pods"});
  api.serve(kGpuTier, false);
  api.put(kResourceQuota, R"({"metadata":{"namespace":"team","name":"broken"},"spec":3})");
  auto wanted = options();
  wanted.config_maps = {{"mine", "missing"}};
  const auto snapshot = take(api, wanted);
  ASSERT_TRUE(snapshot) << snapshot.error().what;
  EXPECT_THAT(gaps_of(*snapshot),
              ElementsAre("configmaps gpu/configs", "configmaps mine/missing",
                          "gputiers.tranche.dev ", "pods ", "resourcequotas team/broken"));
  EXPECT_THAT(snapshot->pods, IsEmpty());
  const auto* pods = gap_of(*snapshot, kPod);
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->code, Code::kPermission);
  EXPECT_EQ(pods->message, "pods is forbidden; grant list on pods");
  ASSERT_NE(gap_of(*snapshot, kGpuTier), nullptr);
  EXPECT_EQ(gap_of(*snapshot, kGpuTier)->code, Code::kNotFound);
  EXPECT_EQ(gap_of(*snapshot, kNode), nullptr);
  EXPECT_EQ(gap_of(*snapshot, kResourceQuota), nullptr)
      << "one broken object, the others are there";
  EXPECT_THAT(snapshot->gaps[4].message, HasSubstr("spec is a number"));
  EXPECT_EQ(decode(encode(*snapshot)), *snapshot);
}

TEST(TakeSnapshot, SlicesClaimsClassesAndGpuNodes) {
  test::FakeObjects api;
  api.put(kNode, R"({"metadata":{"name":"gpu3"}})");
  api.put(kGpuNode,
          R"({"metadata":{"name":"gpu3"},"status":{"gpus":[{"index":0,"uuid":"GPU-1"}]}})");
  put_pod(api, "held", R"({"nodeName":"gpu3"})");
  api.put(kResourceSlice, R"({"metadata":{"name":"s"},"spec":{"driver":"nic.example.com",
    "nodeName":"gpu3","pool":{"name":"gpu3"},"devices":[{"name":"nic"}]}})");
  api.put(kDeviceClass, R"({"metadata":{"name":"gpu","annotations":{"x":"y"}},
    "spec":{"extendedResourceName":"nvidia.com/gpu","selectors":[{"cel":{"expression":"true"}}]}})");
  api.put(kResourceClaim, R"({"metadata":{"namespace":"team","name":"c","annotations":{"x":"y"}},
    "spec":{"devices":{"requests":[{"name":"r"}]}},
    "status":{"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.nvidia.com",
        "pool":"gpu3","device":"gpu-0"}],
      "config":[{"source":"FromClaim","opaque":{"driver":"nic.example.com","parameters":{"k":"v"}}},
        {"source":"FromClass","opaque":{"driver":"gpu.nvidia.com",
          "parameters":{"kind": "GpuConfig", "a":1}}}]}}}})");
  const auto snapshot = take(api, options());
  ASSERT_TRUE(snapshot) << snapshot.error().what;
  EXPECT_THAT(names_of(*snapshot), ElementsAre("held")) << "its node has a GPUNode";
  EXPECT_EQ(snapshot->slices.at(0).driver, "nic.example.com");
  EXPECT_EQ(snapshot->device_classes.at(0),
            (DeviceClass{"gpu", "nvidia.com/gpu", R"([{"cel":{"expression":"true"}}])"}));
  const auto& claim = snapshot->claims.at(0);
  EXPECT_EQ(claim.requests, R"([{"name":"r"}])");
  EXPECT_EQ(claim.claim.devices.at(0).device, "gpu-0");
  EXPECT_EQ(claim.claim.configs.at(0).parameters, "") << "another driver's";
  EXPECT_EQ(claim.claim.configs.at(1).parameters, R"({"a":1,"kind":"GpuConfig"})");
  EXPECT_EQ(snapshot->gpu_nodes.at(0).status->gpus.at(0).uuid, "GPU-1");
  EXPECT_EQ(decode(encode(*snapshot)), *snapshot);
}

TEST(TakeSnapshot, ConfigMapsThatAgentsName) {
  const struct {
    const char* name;
    const char* message;
    std::vector<std::string> asked;
  } cases[] = {
      {"as agents write it", "ConfigMap gpu/configs, key a (label), version 3", {"gpu/configs"}},
      {"the name alone", "ConfigMap gpu/configs", {"gpu/configs"}},
      {"without a key", "ConfigMap gpu/configs (no label)", {"gpu/configs"}},
      {"no key fits", "ConfigMap gpu/configs: it has no key a", {"gpu/configs"}},
      {"refused", "gpu/configs:training:3: sharing: no such key", {"gpu/configs"}},
      {"a file with an error", "/etc/tranche/config.yaml:3: sharing: no such key", {}},
      {"a fraction", "1/2:x is no amount", {}},
      {"nothing", "", {}},
      {"a file", "/etc/tranche/config.yaml", {}},
      {"no namespace", "ConfigMap configs, key a", {}},
      {"no name", "ConfigMap gpu/, key a", {}},
      {"a path", "ConfigMap gpu/../../secrets, key a", {}},
      {"another word", "ConfigMap gpu/Configs?x=y, key a", {}},
  };
  for (const auto& one : cases) {
    test::FakeObjects api;
    const nlohmann::json condition = {
        {"type", "TrancheConfigured"}, {"status", "True"}, {"message", one.message}};
    api.put(kNode,
            nlohmann::json{{"metadata", {{"name", "n"}}}, {"status", {{"conditions", {condition}}}}}
                .dump());
    ASSERT_TRUE(take(api, options())) << one.name;
    std::vector<std::string> asked;
    for (const auto& call : api.calls()) {
      if (call.starts_with("get configmaps ")) asked.push_back(call.substr(15));
    }
    EXPECT_EQ(asked, one.asked) << one.name;
  }
}

// Everything that anybody can plant in objects that are kept.
constexpr const char* kPlanted = "hunter2";

TEST(TakeSnapshot, NoEnvironmentCommandImageSecretOrForeignAnnotation) {
  test::FakeObjects api;
  const std::string foreign = R"("annotations":{"example.com/token":"hunter2","hunter2":"x",
    "kubectl.kubernetes.io/last-applied-configuration":"hunter2","tranche.dev/memory":"8Gi"})";
  api.put(kNode, R"({"metadata":{"name":"n",)" + foreign + R"(},"status":{
    "capacity":{"nvidia.com/gpu":"1"},"images":[{"names":["hunter2"]}],
    "nodeInfo":{"machineID":"hunter2"},"addresses":[{"type":"Hostname","address":"hunter2"}]}})");
  api.put(kPod, R"({"metadata":{"namespace":"team","name":"p",)" + foreign + R"(,
      "managedFields":[{"manager":"hunter2"}]},
    "spec":{"nodeName":"n","hostname":"hunter2","imagePullSecrets":[{"name":"hunter2"}],
      "serviceAccountName":"hunter2",
      "containers":[{"name":"c","image":"hunter2","command":["hunter2"],"args":["hunter2"],
        "env":[{"name":"HUNTER","value":"hunter2"}],"envFrom":[{"secretRef":{"name":"hunter2"}}],
        "lifecycle":{"preStop":{"exec":{"command":["hunter2"]}}},
        "resources":{"limits":{"nvidia.com/gpu":"1"}}}],
      "volumes":[{"name":"v","secret":{"secretName":"hunter2"}}]},
    "status":{"phase":"Running","podIP":"hunter2","containerStatuses":[{"name":"c",
      "image":"hunter2","containerID":"containerd://hunter2"}]}})");
  api.put(kSecret, R"({"metadata":{"namespace":"team","name":"hunter2"},"data":{"a":"hunter2"}})");
  api.put(kConfigMap, R"({"metadata":{"namespace":"team","name":"m"},"data":{"a":"hunter2"}})");
  api.put(kConfigMap, R"({"metadata":{"namespace":"gpu","name":"configs",)" + foreign +
                          R"(},"data":{"a":"version: v1"}})");
  api.put(kNamespace, R"({"metadata":{"name":"team",)" + foreign + "}}");
  api.put(kResourceClaim, R"({"metadata":{"namespace":"team","name":"c",)" + foreign + R"(},
    "status":{"allocation":{"devices":{"results":[],"config":[{"source":"FromClaim",
      "opaque":{"driver":"nic.example.com","parameters":{"token":"hunter2"}}}]}}}})");
  api.put(kDeviceClass, R"({"metadata":{"name":"d",)" + foreign + R"(},"spec":{"config":[
    {"opaque":{"driver":"nic.example.com","parameters":{"token":"hunter2"}}}]}})");
  api.put(kGpuNode, R"({"metadata":{"name":"n",)" + foreign + R"(},"status":{"gpus":[]}})");
  auto wanted = options();
  wanted.config_maps = {{"gpu", "configs"}};
  const auto snapshot = take(api, wanted);
  ASSERT_TRUE(snapshot) << snapshot.error().what;
  EXPECT_THAT(snapshot->gaps, IsEmpty());
  ASSERT_EQ(snapshot->pods.size(), 1U);
  EXPECT_EQ(snapshot->pods[0].pod.annotations.size(), 1U);
  const auto text = encode(*snapshot);
  EXPECT_THAT(text, testing::Not(HasSubstr(kPlanted)));
  EXPECT_EQ(api.count_calls("list secrets") + api.count_calls("get secrets"), 0);
  EXPECT_EQ(decode(text), *snapshot);
}

TEST(TakeSnapshot, NothingAtAllIsAnError) {
  test::FakeObjects api;
  for (const auto* kind :
       {&kNode, &kPod, &kClusterPolicy, &kGpuTier, &kNamespace, &kResourceQuota,
        &kPodDisruptionBudget, &kResourceSlice, &kResourceClaim, &kDeviceClass, &kGpuNode}) {
    api.refuse("", *kind, {Code::kPermission, std::string(kind->plural) + ": no rights"});
  }
  const auto snapshot = take(api, options());
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, Code::kPermission);
  EXPECT_EQ(snapshot.error().what, "nothing of the cluster could be read: nodes: no rights");
}

// Each call would wait for it, and again.
TEST(TakeSnapshot, AnApiServerOutOfReachIsAskedOnce) {
  test::FakeObjects api;
  api.refuse("list", kNode, {Code::kUnavailable, "no route to host"});
  const auto snapshot = take(api, options());
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, Code::kUnavailable);
  EXPECT_EQ(snapshot.error().what, "no route to host");
  EXPECT_THAT(api.calls(), ElementsAre("list nodes"));
}

TEST(TakeSnapshot, AStopLeavesNoHalfSnapshot) {
  test::FakeObjects api;
  put_nodes(api);
  const std::stop_source stop;
  stop.request_stop();
  const auto snapshot = take(api, options(), {.stop = stop.get_token()});
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, Code::kUnavailable);
  EXPECT_THAT(snapshot.error().what, HasSubstr("stopped"));
}

}  // namespace
}  // namespace tranche::cluster::snapshot_take_test
