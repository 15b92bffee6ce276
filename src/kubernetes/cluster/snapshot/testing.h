#pragma once
// A cluster full of names, for tests of what is left of them.

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "cluster/formats/limit_settings.h"
#include "cluster/formats/mig_change.h"
#include "cluster/formats/reasons.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster::anonymize_test {

// Part of every name of the cluster.
inline constexpr const char* kNameMark = "zebra";

// A cluster of chance, whose names all have the mark, and refer to each other. Resource versions
// are not renamed: by them an object is found again.
class NamedCluster {
 public:
  explicit NamedCluster(unsigned seed) : chance_(seed) {}
  Snapshot make();

 private:
  unsigned below(unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most - 1)(chance_);
  }
  std::string version() { return std::to_string(++version_); }
  // Of a few, so that names are often the same: "zebra-pod-3", "zebra.pod.3".
  std::string name(const char* what) {
    return fmt::format("{0}{1}{2}{1}{3}", kNameMark, below(2) == 0 ? "-" : ".", what, below(4));
  }
  std::string uid() { return fmt::format("0b51bcc7-6a6c-4c0f-9e0e-{:012x}", below(6) + 0xabcde0); }
  std::string gpu() { return "GPU-" + uid(); }
  std::string mig() { return "MIG-" + uid(); }
  std::string node_name() { return nodes_.at(below(static_cast<unsigned>(nodes_.size()))); }
  std::string words() {
    return fmt::format("{}/{} on {} holds {}::3 (\"{}\"), and {}={}", name("ns"), name("pod"),
                       node_name(), gpu(), name("claim"), name("volume"), uid());
  }
  StringMap labels() {
    return {{"kubernetes.io/hostname", node_name()},
            {name("key") + "/" + name("key"), name("value")},
            {"app", name("app")},
            {"nvidia.com/gpu.product", "NVIDIA-L20"},
            {"nvidia.com/device-plugin.config", name("config")}};
  }
  SnapshotNode node(const std::string& name);
  SnapshotPod pod();
  SnapshotClaim claim(unsigned number);
  ResourceSlice slice(unsigned number);
  GpuNode gpu_node(const std::string& name);
  std::string limits();
  std::string change();

  std::mt19937 chance_;
  int version_ = 0;
  std::vector<std::string> nodes_;
};

inline std::string NamedCluster::limits() {
  return encode(
      std::vector<LimitSetting>{{.ns = name("ns"),
                                 .pod = name("pod"),
                                 .uid = uid(),
                                 .container = name("container"),
                                 .resource = claim_resource(name("claim"), name("request")),
                                 .memory = "8Gi"}});
}

inline std::string NamedCluster::change() {
  MigChange change{.id = fmt::format("{}-change-{}", kNameMark, below(4)),
                   .layout = name("config"),
                   .phase = MigPhase::kDraining};
  change.pods = {{name("ns"), name("pod")}};
  change.why = {{change.pods[0], words()}};
  change.waits_for = words();
  change.journal = name("journal");
  return encode(change);
}

inline SnapshotNode NamedCluster::node(const std::string& node_name) {
  const NodeCondition condition{
      condition::kTrancheConfigured, "True", reason::kConfigApplied,
      fmt::format("ConfigMap {}/{}, key {}", name("ns"), name("map"), name("config"))};
  return {.node = {.name = node_name,
                   .uid = uid(),
                   .resource_version = version(),
                   .labels = labels(),
                   .annotations = {{kLimitSettingsAnnotation, limits()},
                                   {kMigChangeAnnotation, change()},
                                   {"tranche.dev/mig-applied", words()},
                                   {"tranche.dev/whatever", words()}},
                   .taints = {{name("key"), name("value"), "NoSchedule"}},
                   .capacity = {{"nvidia.com/gpu", "4"}},
                   .allocatable = {{"nvidia.com/gpu", "4"}},
                   .conditions = {condition, {"AcmeReady", "True", "Because", words()}}},
          .configuration = {{condition.message, condition}}};
}

inline SnapshotPod NamedCluster::pod() {
  SnapshotPod value;
  auto& pod = value.pod;
  pod = {.ns = name("ns"), .name = fmt::format("{}-{}", name("pod"), version_), .uid = uid()};
  pod.resource_version = version();
  pod.labels = labels();
  pod.annotations = {{"tranche.dev/gpu-memory." + name("container"), "4Gi"},
                     {"tranche.dev/memory", name("text")}};
  pod.owners = {{"apps/v1", "ReplicaSet", name("owner"), uid(), true}};
  pod.node = node_name();
  pod.node_selector = labels();
  pod.scheduler = name("scheduler");
  pod.message = words();
  pod.unschedulable = words();
  pod.containers = {{name("container"),
                     false,
                     false,
                     {{"nvidia.com/gpu", 1}},
                     {{name("claim"), name("request")}}}};
  pod.claims = {{name("claim"), "", name("template")}};
  pod.extended = {name("claim"), {{name("container"), "nvidia.com/gpu", name("request")}}};
  value.tolerations = {{name("key"), "Equal", name("value"), "NoSchedule"}};
  value.affinity = fmt::format(
      R"({{"nodeAffinity":{{"x":[{{"matchExpressions":[{{"key":"kubernetes.io/hostname","operator":"In","values":["{}"]}}],"matchFields":[{{"key":"metadata.name","values":["{}"]}}]}}]}},"podAffinity":[{{"labelSelector":{{"matchLabels":{{"{}":"{}"}}}},"namespaces":["{}"],"topologyKey":"{}"}}]}})",
      node_name(), node_name(), name("key"), name("value"), name("ns"), name("key"));
  return value;
}

inline SnapshotClaim NamedCluster::claim(unsigned number) {
  SnapshotClaim value;
  value.claim = {.key = {name("ns"), fmt::format("{}-{}", name("claim"), number)}, .uid = uid()};
  value.claim.resource_version = version();
  value.claim.allocated = true;
  value.claim.devices = {{.request = name("request") + "/" + name("request"),
                          .driver = "gpu.nvidia.com",
                          .pool = node_name(),
                          .device = below(2) == 0 ? "gpu-0" : name("device"),
                          .share_id = uid()}};
  value.claim.configs = {{.requests = {name("request")},
                          .driver = "gpu.nvidia.com",
                          .parameters = fmt::format(R"({{"kind":"GpuConfig","of":"{}"}})", gpu())}};
  value.claim.reserved_for = {{"pods", name("pod"), uid()}};
  value.requests = fmt::format(
      R"([{{"exactly":{{"deviceClassName":"gpu","selectors":[{{"cel":{{"expression":"device.attributes['gpu.nvidia.com'].uuid == '{}' || x == '{}'"}}}}]}},"name":"{}"}}])",
      gpu(), name("text"), name("request"));
  value.constraints = fmt::format(
      R"([{{"matchAttribute":"gpu.nvidia.com/uuid","requests":["{}"]}}])", name("request"));
  return value;
}

inline ResourceSlice NamedCluster::slice(unsigned number) {
  const auto node = node_name();
  return {.name = fmt::format("{}-gpu.nvidia.com-{}", node, number),
          .uid = uid(),
          .resource_version = version(),
          .owners = {{"v1", "Node", node, uid(), true}},
          .driver = "gpu.nvidia.com",
          .node = node,
          .pool = {.name = node, .generation = 1, .slices = 1},
          .counters = {},
          .devices = {{.name = "gpu-0",
                       .attributes = {{"uuid", gpu()},
                                      {"productName", "NVIDIA L20"},
                                      {"nic.example.com/mac", name("mac")}},
                       .taints = {{name("key"), name("value"), "NoSchedule"}}}}};
}

inline GpuNode NamedCluster::gpu_node(const std::string& node) {
  GpuNode value{.name = node, .uid = uid(), .resource_version = version()};
  value.owners = {{"v1", "Node", node, uid(), false}};
  GpuNodeStatus status{.agent = "tranche test"};
  status.gpus = {{.uuid = gpu(),
                  .model = "NVIDIA L20",
                  .pci = "0000:3b:00.0",
                  .instances = {{{.uuid = mig(), .profile = "1g.10gb", .unhealthy = words()}}},
                  .unhealthy = words()}};
  status.resources = {{.name = "nvidia.com/gpu", .sharing = "none", .devices = {{.uuid = gpu()}}}};
  status.withheld = {{"nvidia.com/gpu", {fmt::format("GPU 0 ({})", gpu())}, words()}};
  status.holdings = {{.device = mig(),
                      .gpu = gpu(),
                      .wire = "device-plugin",
                      .id = gpu() + "::3",
                      .claim = name("claim"),
                      .request = name("request"),
                      .tenant = name("tenant"),
                      .ns = name("ns"),
                      .pod = name("pod"),
                      .pod_uid = uid(),
                      .container = name("container"),
                      .use = "whole",
                      .state = "given"}};
  status.reasons = {{gpu(), words()}};
  value.status = std::move(status);
  return value;
}

inline Snapshot NamedCluster::make() {
  for (unsigned i = 0; i < 3; ++i)
    nodes_.push_back(fmt::format("{}-host-{}.example.com", kNameMark, i));
  Snapshot snapshot{.server = "https://zebra.example.com:6443", .taken_by = "tranche test"};
  for (const auto& name : nodes_) {
    snapshot.nodes.push_back(node(name));
    snapshot.gpu_nodes.push_back(gpu_node(name));
  }
  for (unsigned i = 0; i < 6; ++i) {
    snapshot.pods.push_back(pod());
    snapshot.claims.push_back(claim(i));
    snapshot.slices.push_back(slice(i));
  }
  snapshot.config_maps = {
      {.key = {name("ns"), name("map")},
       .labels = labels(),
       .data = {{name("config"), fmt::format("# {}\nversion: v1\nflags: {{migStrategy: {}}}\n"
                                             "mig-configs: {{{}: [{{devices: all}}]}}\n",
                                             name("comment"), name("text"), name("config"))},
                {name("broken"), fmt::format("{{{}", name("text"))}}}};
  ClusterPolicy policy;
  policy.name = name("policy");
  policy.config_name = name("map");
  policy.config_default = name("config");
  policy.mps_root = "/srv/" + name("path");
  policy.other_fields = {"daemonsets.labels." + name("key")};
  snapshot.cluster_policies = {policy};
  GpuTier tier{.name = "gold", .mechanism = ExclusiveTier()};
  tier.isolation = words();
  tier.support = words();
  tier.namespaces = {{name("ns")}, LabelSelector{{{name("key"), name("value")}}}};
  tier.quotas = {{name("ns"), 3}};
  snapshot.tiers = {tier};
  snapshot.namespaces = {{"default", {}}, {name("ns"), labels()}};
  snapshot.quotas = {
      {.key = {name("ns"), name("quota")}, .hard = {{"requests.nvidia.com/gpu", "4"}}}};
  snapshot.budgets = {
      {{name("ns"), name("budget")}, LabelSelector{{{name("key"), name("value")}}}, 1}};
  snapshot.device_classes = {
      {.name = "gpu",
       .selectors = fmt::format(R"([{{"cel":{{"expression":"device.uuid == '{}'"}}}}])", gpu())}};
  snapshot.gaps = {{"pods", name("ns") + "/" + name("pod"), Code::kInvalidArgument, words()},
                   {"nodes", node_name(), Code::kInvalidArgument, words()}};
  return sorted(std::move(snapshot));
}

}  // namespace tranche::cluster::anonymize_test
