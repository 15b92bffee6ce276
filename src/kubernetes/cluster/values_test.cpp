// The typed values: what is read and written of each kind.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cluster/cluster_policy.h"
#include "cluster/config_map.h"
#include "cluster/event.h"
#include "cluster/lease.h"
#include "cluster/node.h"
#include "cluster/node_feature.h"
#include "cluster/pod.h"
#include "cluster/time.h"

namespace tranche::cluster::values_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Node, IsRead) {
  const auto node = parse_node(R"({
    "metadata":{"name":"n1","uid":"u","resourceVersion":"5",
      "labels":{"nvidia.com/device-plugin.config":"l20"},"annotations":{"a":"b"}},
    "spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},
    "status":{"capacity":{"nvidia.com/gpu":"8","memory":"32Gi"},"allocatable":{"nvidia.com/gpu":"7"},
      "conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"ok"}]}})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->uid, "u");
  EXPECT_EQ(node->resource_version, "5");
  EXPECT_THAT(node->labels, ElementsAre(Pair("nvidia.com/device-plugin.config", "l20")));
  EXPECT_THAT(node->annotations, ElementsAre(Pair("a", "b")));
  EXPECT_THAT(node->taints, ElementsAre(Taint{"k", "", "NoSchedule"}));
  EXPECT_TRUE(node->unschedulable);
  EXPECT_THAT(node->capacity, ElementsAre(Pair("memory", "32Gi"), Pair("nvidia.com/gpu", "8")));
  EXPECT_THAT(node->allocatable, ElementsAre(Pair("nvidia.com/gpu", "7")));
  EXPECT_THAT(node->conditions, ElementsAre(NodeCondition{"Ready", "True", "KubeletReady", "ok"}));
}

TEST(Node, OneThatJustCameHasLittle) {
  const auto node = parse_node(R"({"metadata":{"name":"n1","labels":null},"spec":{}})");
  ASSERT_TRUE(node);
  EXPECT_FALSE(node->unschedulable);
  EXPECT_THAT(node->labels, IsEmpty());
}

TEST(Node, WrongTypesAreNamed) {
  const struct {
    const char* name;
    const char* text;
    const char* why;
  } cases[] = {
      {"label", R"({"metadata":{"name":"n","labels":{"a":true}}})",
       "Node: metadata.labels has true or false at \"a\" where a text is expected"},
      {"taint", R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a"},{"key":[]}]}})",
       "Node: spec.taints[1].key is a list where a text is expected"},
      {"taints", R"({"metadata":{"name":"n"},"spec":{"taints":["a"]}})",
       "Node: spec.taints has a text where an object is expected"},
      {"unschedulable", R"({"metadata":{"name":"n"},"spec":{"unschedulable":"yes"}})",
       "Node: spec.unschedulable is a text where true or false is expected"},
      {"torn", R"({"metadata":{"name":"n")", "Node: no JSON"},
  };
  for (const auto& test : cases) {
    const auto node = parse_node(test.text);
    ASSERT_FALSE(node) << test.name;
    EXPECT_THAT(node.error().what, HasSubstr(test.why)) << test.name;
  }
}

TEST(ConfigMap, RoundTrip) {
  ConfigMap map{{"x", "a"}};
  map.uid = "u";
  map.resource_version = "4";
  map.labels = {{"l", "1"}};
  map.annotations = {{"n", "2"}};
  map.owners = {{"v1", "Pod", "p", "pu", false}, {"apps/v1", "DaemonSet", "d", "du", true}};
  map.data = {{"any", "version: v1\n\"quoted\"\n"}, {"empty", ""}};
  const auto text = to_json(map);
  const auto back = parse_config_map(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, map);
  EXPECT_EQ(json::parse(text)["kind"], "ConfigMap");
}

TEST(ConfigMap, NewOneHasNoVersion) {
  const auto written = json::parse(to_json(ConfigMap{{"x", "a"}}));
  EXPECT_EQ(written, json::parse(R"({"apiVersion":"v1","kind":"ConfigMap",
    "metadata":{"namespace":"x","name":"a"},"data":{}})"));
}

TEST(ConfigMap, TextThatIsNoUtf8IsReplacedNotThrownAbout) {
  ConfigMap map{{"x", "a"}};
  map.data = {{"k", "\xff"}};
  EXPECT_EQ(parse_config_map(to_json(map))->data.at("k"), "\xef\xbf\xbd");
}

TEST(Lease, RoundTrip) {
  Lease lease{{"x", "leader"}};
  lease.resource_version = "4";
  lease.holder = "pod-1";
  lease.duration = std::chrono::seconds(15);
  lease.acquired = *parse_time("2026-01-31T12:00:00.000001Z");
  lease.renewed = *parse_time("2026-01-31T12:00:05.5Z");
  lease.transitions = 3;
  const auto text = to_json(lease);
  const auto back = parse_lease(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, lease);
  EXPECT_EQ(json::parse(text)["spec"]["renewTime"], "2026-01-31T12:00:05.500000Z");
}

TEST(Lease, BrokenTimeIsNamed) {
  const auto lease = parse_lease(R"({"metadata":{"name":"l"},"spec":{"renewTime":"yesterday"}})");
  ASSERT_FALSE(lease);
  EXPECT_THAT(lease.error().what, HasSubstr("Lease: spec.renewTime is \"yesterday\""));
}

TEST(Time, ReadsAndWritesRfc3339) {
  const struct {
    const char* text;
    const char* written;  // nullptr: refused
  } cases[] = {
      {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000Z"},
      {"2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00.123456Z"},
      {"2024-02-29T23:59:59.5+02:30", "2024-02-29T21:29:59.500000Z"},
      {"1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"},
      {"2025-02-29T00:00:00Z", nullptr},
      {"2026-01-31T24:00:00Z", nullptr},
      {"2026-01-31 12:00:00Z", nullptr},
      {"2026-01-31T12:00:00", nullptr},
      {"2026-01-31T12:00:00.Z", nullptr},
      {"2026-01-31T12:00:00.1234567890Z", nullptr},
      {"9999-01-01T00:00:00Z", nullptr},
      // What is read is written as a time that can be read.
      {"1678-01-01T00:00:00Z", "1678-01-01T00:00:00.000000Z"},
      {"1678-01-01T00:00:00+00:01", nullptr},
      {"2261-12-31T23:59:59Z", "2261-12-31T23:59:59.000000Z"},
      {"2261-12-31T23:59:00-00:01", nullptr},
      {"2261-12-31T23:59:60Z", nullptr},
      {"2026-01-31T12:00:00Zx", nullptr},
      {"", nullptr},
  };
  for (const auto& test : cases) {
    const auto time = parse_time(test.text);
    ASSERT_EQ(time.has_value(), test.written != nullptr) << test.text;
    if (time) {
      EXPECT_EQ(micro_time(*time), test.written) << test.text;
    }
  }
}

Event node_event() {
  Event event;
  event.regarding = {"v1", "Node", "", "n1", "n1-uid"};
  event.warning = true;
  event.reason = "ConfigRefused";
  event.action = "Configure";
  event.note = "key l20: line 3: replicas must be at least 2";
  event.reporter = "tranche.dev/agent";
  event.instance = "n1";
  event.time = *parse_time("2026-01-31T12:00:00Z");
  return event;
}

TEST(Event, OfANodeGoesToTheDefaultNamespace) {
  const auto event = node_event();
  const auto written = json::parse(to_json(event));
  EXPECT_EQ(written["metadata"]["namespace"], "default");
  EXPECT_EQ(written["metadata"]["name"], key_of(event).name);
  EXPECT_THAT(key_of(event).name, testing::StartsWith("n1."));
  EXPECT_EQ(written["regarding"],
            json::parse(R"({"apiVersion":"v1","kind":"Node","name":"n1","uid":"n1-uid"})"));
  EXPECT_EQ(written["eventTime"], "2026-01-31T12:00:00.000000Z");
  EXPECT_EQ(written["type"], "Warning");
  EXPECT_EQ(written["reportingController"], "tranche.dev/agent");
  EXPECT_FALSE(written.contains("series"));
}

TEST(Event, SameTimeAndAnotherReasonIsAnotherEvent) {
  auto other = node_event();
  other.reason = "ConfigTaken";
  EXPECT_NE(key_of(other), key_of(node_event()));
  EXPECT_EQ(key_of(node_event()), key_of(node_event()));
}

TEST(Event, IsCutToWhatTheServerTakes) {
  auto event = node_event();
  event.note = std::string(1023, 'a') + "\xc3\xa9";
  event.regarding.name = std::string(200, 'n') + '.' + std::string(52, 'm');
  const auto written = json::parse(to_json(event));
  EXPECT_EQ(written["note"], std::string(1023, 'a'));
  EXPECT_LE(key_of(event).name.size(), 253U);
  EXPECT_EQ(written["regarding"]["name"].get<std::string>().size(), 253U);
}

TEST(Event, SeriesCounts) {
  auto event = node_event();
  event.series = Event::Series{3, event.time};
  EXPECT_EQ(json::parse(to_json(event))["series"],
            json::parse(R"({"count":3,"lastObservedTime":"2026-01-31T12:00:00.000000Z"})"));
  EXPECT_EQ(json::parse(series_patch(*event.series))["series"]["count"], 3);
}

TEST(NodeFeature, IsWrittenAsNvidiasIs) {
  NodeFeature feature{{"gpu", "nvidia-features-for-n1"}};
  feature.node = "n1";
  feature.labels = {{"nvidia.com/gpu.count", "1"}};
  feature.owners = {{"v1", "Pod", "p", "pu", false}};
  const auto text = to_json(feature);
  EXPECT_EQ(json::parse(text), json::parse(R"({
    "apiVersion":"nfd.k8s-sigs.io/v1alpha1","kind":"NodeFeature",
    "metadata":{"namespace":"gpu","name":"nvidia-features-for-n1",
      "labels":{"nfd.node.kubernetes.io/node-name":"n1"},
      "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"pu"}]},
    "spec":{"features":{"flags":{},"attributes":{},"instances":{}},
      "labels":{"nvidia.com/gpu.count":"1"}}})"));
  const auto back = parse_node_feature(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, feature);
}

TEST(NodeFeature, IsChangedOnlyWhereItDiffers) {
  const NodeFeature wanted = {.key = {"gpu", "f"}, .node = "n1", .labels = {{"a", "1"}}};
  const auto same = with_feature(to_json(wanted), wanted);
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, std::nullopt);
  auto owned = wanted;
  owned.owners = {{"v1", "Pod", "p", "u", false}};
  EXPECT_EQ(*with_feature(to_json(owned), wanted), std::nullopt) << "owners are not known: kept";
  ASSERT_TRUE(*with_feature(to_json(wanted), owned));
  EXPECT_EQ(*parse_node_feature(**with_feature(to_json(wanted), owned)), owned);
  for (const auto* text :
       {R"({"metadata":{"name":"f"}})", R"({"metadata":{"name":"f"},"spec":null})",
        R"({"metadata":{"name":"f"},"spec":{"features":7,"labels":null}})"}) {
    const auto changed = with_feature(text, wanted);
    ASSERT_TRUE(changed && *changed) << text;
    EXPECT_EQ(json::parse(**changed)["spec"], json::parse(to_json(wanted))["spec"]) << text;
  }
  EXPECT_FALSE(with_feature(R"({"metadata":{"name":"f"},"spec":[]})", wanted));
}

TEST(ClusterPolicy, PublishedOneIsReadWhole) {
  const auto policy = parse_cluster_policy(R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy",
    "metadata":{"name":"cluster-policy","generation":2},
    "spec":{"mig":{"strategy":"mixed"},
            "devicePlugin":{"config":{"name":"device-plugin-config","default":"default"},
                            "mps":{"root":"/run/nvidia/mps"}}}})");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->name, "cluster-policy");
  EXPECT_EQ(policy->generation, 2);
  EXPECT_EQ(policy->device_plugin_enabled, std::nullopt);
  EXPECT_EQ(policy->config_name, "device-plugin-config");
  EXPECT_EQ(policy->config_default, "default");
  EXPECT_EQ(policy->mig_strategy, "mixed");
  EXPECT_EQ(policy->mps_root, "/run/nvidia/mps");
  EXPECT_THAT(policy->other_fields, IsEmpty());
}

TEST(ClusterPolicy, WhatIsNotObeyedIsNamed) {
  const auto policy = parse_cluster_policy(R"({"metadata":{"name":"p"},"spec":{
    "driver":{"enabled":true,"version":null,"env":[{"name":"a"}]},
    "devicePlugin":{"enabled":false,"args":[],"config":{"name":"","default":"x"}},
    "mig":{},"daemonsets":{"tolerations":[],"labels":{}}}})");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->device_plugin_enabled, false);
  EXPECT_EQ(policy->config_name, "");
  EXPECT_EQ(policy->mig_strategy, std::nullopt);
  EXPECT_THAT(policy->other_fields, ElementsAre("driver.enabled", "driver.env"));
}

// As the operator's chart writes a policy: every component, also those that are off.
TEST(ClusterPolicy, WhatAsksForNothingIsNotNamed) {
  const auto policy = parse_cluster_policy(R"({"metadata":{"name":"p"},"spec":{
    "driver":{"enabled":false,"version":"550","manager":{"env":[{"name":"a"}]}},
    "toolkit":{"enabled":true,"version":"","env":[],"resources":{},"installDir":"/usr/local"},
    "gdrcopy":{"enabled":false},"cdi":{"enabled":false,"default":false},
    "devicePlugin":{"enabled":false,"args":["--x"],"imagePullSecrets":[""]},
    "mig":{"strategy":"none"},"psp":{"enabled":false},"replicas":0}})");
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->other_fields, ElementsAre("devicePlugin.args", "replicas", "toolkit.enabled",
                                                "toolkit.installDir"));
}

TEST(Pod, RequestsOfExtendedResources) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p","namespace":"x","uid":"u",
      "deletionTimestamp":"2026-01-01T00:00:00Z",
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"ru","controller":true}]},
    "spec":{"nodeName":"n1","schedulerName":"default-scheduler","priorityClassName":"serving",
      "initContainers":[{"name":"side","restartPolicy":"Always","resources":{"requests":{"nvidia.com/gpu":"1"}}},
                        {"name":"init"}],
      "containers":[{"name":"main","resources":{
        "limits":{"nvidia.com/gpu":"2","cpu":"4","hugepages-2Mi":"2Mi"},
        "requests":{"memory":"1Gi","nvidia.com/gpu.shared":3,"ephemeral-storage":"1Gi",
                    "kubernetes.io/batch":"1","requests.example.com/x":"1"}}}]},
    "status":{"phase":"Failed","reason":"UnexpectedAdmissionError","message":"Allocate failed"}})");
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_TRUE(pod->deleting);
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->priority_class, "serving");
  EXPECT_EQ(pod->phase, "Failed");
  EXPECT_EQ(pod->reason, "UnexpectedAdmissionError");
  EXPECT_EQ(pod->message, "Allocate failed");
  EXPECT_EQ(pod->owners.at(0).name, "r");
  EXPECT_TRUE(pod->owners.at(0).controller);
  ASSERT_EQ(pod->containers.size(), 3U);
  EXPECT_TRUE(pod->containers[0].sidecar);
  EXPECT_FALSE(pod->containers[1].sidecar);
  EXPECT_TRUE(pod->containers[1].init);
  EXPECT_THAT(pod->containers[2].requests,
              ElementsAre(Pair("nvidia.com/gpu", 2), Pair("nvidia.com/gpu.shared", 3)));
}

TEST(Pod, ClaimsOfItsContainers) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p"},
    "spec":{"resourceClaims":[{"name":"half","resourceClaimTemplateName":"t"},
                              {"name":"later","resourceClaimTemplateName":"t"},
                              {"name":"ours","resourceClaimName":"team"}],
      "containers":[{"name":"main","resources":{"claims":[{"name":"half"},
                                                          {"name":"ours","request":"gpu"}]}}]},
    "status":{"resourceClaimStatuses":[{"name":"half","resourceClaimName":"p-half-x"},
                                       {"name":"later"}]}})");
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_THAT(pod->claims, ElementsAre(PodClaim{"half", "p-half-x", "t"},
                                       PodClaim{"later", "", "t"}, PodClaim{"ours", "team"}));
  EXPECT_THAT(pod->containers.at(0).claims,
              ElementsAre(ContainerClaim{"half"}, ContainerClaim{"ours", "gpu"}));
}

TEST(Pod, TheClaimThatTheSchedulerMadeForExtendedResources) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p"},"spec":{},
    "status":{"extendedResourceClaimStatus":{"resourceClaimName":"p-extended-resources-x",
      "requestMappings":[{"containerName":"main","resourceName":"nvidia.com/gpu",
                          "requestName":"container-0-request-0"}]}}})");
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_EQ(pod->extended, (ExtendedClaim{"p-extended-resources-x",
                                          {{"main", "nvidia.com/gpu", "container-0-request-0"}}}));
  EXPECT_EQ(parse_pod(R"({"metadata":{"name":"p"},"spec":{}})")->extended, ExtendedClaim());
}

TEST(Pod, RequestsAreCountedAsTheSchedulerDoes) {
  const auto container = [](bool init, bool sidecar, std::int64_t gpus) {
    return PodContainer{.init = init, .sidecar = sidecar, .requests = {{"nvidia.com/gpu", gpus}}};
  };
  const struct {
    const char* name;
    std::vector<PodContainer> containers;
    std::int64_t gpus;
  } cases[] = {
      {"containers run together", {container(false, false, 1), container(false, false, 2)}, 3},
      {"an init container runs before", {container(true, false, 2), container(false, false, 1)}, 2},
      {"a sidecar runs with them", {container(true, true, 1), container(false, false, 2)}, 3},
      {"an init container runs beside the sidecars before it",
       {container(true, true, 1), container(true, false, 2), container(false, false, 1)},
       3},
      {"and not beside those after it",
       {container(true, false, 2), container(true, true, 1), container(false, false, 1)},
       2},
  };
  for (const auto& one : cases) {
    const Pod pod{.containers = one.containers};
    EXPECT_EQ(requests_of(pod).at("nvidia.com/gpu"), one.gpus) << one.name;
  }
}

TEST(Pod, WhyItIsNotPlaced) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p"},"spec":{"containers":[]},"status":{
    "phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
    "message":"0/8 nodes are available: 8 Insufficient nvidia.com/gpu."}]}})");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->unschedulable, "0/8 nodes are available: 8 Insufficient nvidia.com/gpu.");
}

TEST(Pod, IsReadyByItsCondition) {
  for (const auto* status : {"True", "False"}) {
    const auto pod = parse_pod(fmt::format(
        R"({{"metadata":{{"name":"p"}},"status":{{"conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
        status));
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->ready, status == std::string("True"));
  }
  EXPECT_FALSE(parse_pod(R"({"metadata":{"name":"p"}})")->ready);
}

TEST(Pod, ContainersByTheRuntimesId) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p","uid":"u"},"status":{
    "containerStatuses":[{"name":"main","containerID":"containerd://3f2a"},{"name":"waits"}],
    "initContainerStatuses":[{"name":"init","containerID":"cri-o://77"}]}})");
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->container_ids, ElementsAre(Pair("3f2a", "main"), Pair("77", "init")));
  EXPECT_FALSE(is_mirror(*pod));
  EXPECT_EQ(uid_on_node(*pod), "u");
}

TEST(Pod, AStaticOneIsKnownByItsFile) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p","uid":"u","annotations":{
    "kubernetes.io/config.mirror":"0b","kubernetes.io/config.hash":"0a"}}})");
  ASSERT_TRUE(pod);
  EXPECT_TRUE(is_mirror(*pod));
  EXPECT_EQ(uid_on_node(*pod), "0a");
}

// The API server takes such quantities, and a Pod that it took must not hide from us.
TEST(Pod, AQuantityThatDoesNotFitIsMoreThanAnybodyHas) {
  for (const auto* const amount : {"100E", "9E", "1e30", "1e300", "9223372036854775807"}) {
    const auto pod = parse_pod(
        fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"a",)"
                    R"("resources":{{"limits":{{"nvidia.com/gpu":"{0}"}}}}}},{{"name":"b",)"
                    R"("resources":{{"limits":{{"nvidia.com/gpu":"{0}"}}}}}}]}}}})",
                    amount));
    ASSERT_TRUE(pod) << pod.error().message();
    EXPECT_EQ(requests_of(*pod).at("nvidia.com/gpu"), 2 * PodContainer::kMost) << amount;
  }
}

TEST(Pod, BrokenQuantityIsNamed) {
  const auto pod = parse_pod(R"({"metadata":{"name":"p"},"spec":{"containers":[
    {"name":"c","resources":{"limits":{"nvidia.com/gpu":"two"}}}]}})");
  ASSERT_FALSE(pod);
  EXPECT_THAT(pod.error().what,
              HasSubstr("Pod: spec.containers[0].resources.limits.nvidia.com/gpu is \"two\""));
}

}  // namespace
}  // namespace tranche::cluster::values_test
