#include "cluster/snapshot/take.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/snapshot/config_origin.h"
#include "cluster/snapshot/parts.h"

namespace tranche::cluster {
namespace {

// ---- what is kept of an object

// Anybody may write anything into annotations. Only ours are read, and kubelet's two that mark a
// static Pod.
bool is_read(std::string_view annotation) {
  return annotation.starts_with("tranche.dev/") || annotation == "kubernetes.io/config.mirror" ||
         annotation == "kubernetes.io/config.hash";
}

void keep_read(StringMap& annotations) {
  std::erase_if(annotations, [](const auto& entry) { return !is_read(entry.first); });
}

// Parameters for other drivers are none of our business: nothing is known of what stands in them.
void keep_gpu_parameters(ResourceClaim& claim, const TakeOptions& options) {
  for (auto& config : claim.configs) {
    if (config.driver != options.driver) config.parameters.clear();
  }
}

// ---- parts about GPUs

bool is_gpu_resource(std::string_view resource, const TakeOptions& options) {
  return std::ranges::any_of(options.domains, [&](std::string_view domain) {
    return resource.size() > domain.size() && resource.starts_with(domain) &&
           resource[domain.size()] == '/';
  });
}

bool asks_for_gpus(const SnapshotPod& pod, const TakeOptions& options) {
  // The devices of a claim are listed in another object: each of them counts.
  return !pod.pod.claims.empty() ||
         std::ranges::any_of(pod.pod.containers, [&](const auto& container) {
           return std::ranges::any_of(container.requests, [&](const auto& request) {
             return is_gpu_resource(request.first, options);
           });
         });
}

// By what it advertises, even if that is 0 now, and by the labels of feature discovery.
bool has_gpus(const Node& node, const TakeOptions& options) {
  const auto advertised = [&](const auto& entry) { return is_gpu_resource(entry.first, options); };
  const auto label = [&](const auto& entry) {
    return std::ranges::any_of(options.domains, [&](const auto& domain) {
      return entry.first == domain + "/gpu.product" ||
             (entry.first == domain + "/gpu.present" && entry.second == "true");
    });
  };
  return std::ranges::any_of(node.capacity, advertised) || std::ranges::any_of(node.labels, label);
}

// "requests.nvidia.com/gpu"; "<class>.deviceclass.resource.k8s.io/devices" is a claim's.
bool is_gpu_quota(std::string_view name, const TakeOptions& options) {
  if (name.ends_with(".deviceclass.resource.k8s.io/devices")) return true;
  constexpr std::string_view kRequests = "requests.";
  return name.starts_with(kRequests) && is_gpu_resource(name.substr(kRequests.size()), options);
}

void keep_gpu_quotas(ResourceQuota& quota, const TakeOptions& options) {
  const auto other = [&](const auto& entry) { return !is_gpu_quota(entry.first, options); };
  std::erase_if(quota.hard, other);
  std::erase_if(quota.used, other);
}

std::optional<NodeConfiguration> configuration_of(const Node& node, const TakeOptions& options) {
  const auto found = std::ranges::find(node.conditions, options.condition, &NodeCondition::type);
  if (found == node.conditions.end()) return std::nullopt;
  NodeConfiguration configuration{.origin = std::nullopt, .condition = *found};
  if (found->status == "True") configuration.origin = found->message;
  return configuration;
}

// ---- reading

bool is_out_of_reach(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

class Taker {
 public:
  Taker(Objects& objects, const TakeOptions& options, const Call& call)
      : objects_(objects), options_(options), call_(call) {}

  Result<Snapshot> take();

 private:
  // The objects of a kind, parsed; `parse` as the parse_ functions.
  template <class Parse>
  auto list(const Kind& kind, const Parse& parse) {
    std::vector<typename decltype(parse(std::string_view()))::value_type> values;
    const auto answer = objects_.list(kind, {}, call_);
    if (!seen(kind, {}, answer)) return values;
    for (const auto& object : answer->items) {
      if (auto value = parse(object.json)) {
        values.push_back(*std::move(value));
      } else {
        add_gap(kind, object.key.to_string(), value.error());
      }
    }
    return values;
  }

  // Counts an answer, notes a failure.
  template <class T>
  bool seen(const Kind& kind, const std::string& name, const Result<T>& answer) {
    if (answer) {
      any_ = true;
      return true;
    }
    if (!first_) first_ = answer.error();
    add_gap(kind, name, answer.error());
    return false;
  }

  void add_gap(const Kind& kind, std::string name, const Error& error) {
    snapshot_.gaps.push_back({kind.resource(), std::move(name), error.code, error.message()});
  }

  void take_nodes();
  void take_pods();
  void take_config_maps();
  void take_quotas();
  void take_claims();

  Objects& objects_;
  const TakeOptions& options_;
  const Call& call_;
  Snapshot snapshot_;
  bool any_ = false;
  std::optional<Error> first_;
};

void Taker::take_nodes() {
  for (auto& node : list(kNode, parse_node)) {
    keep_read(node.annotations);
    auto configuration = configuration_of(node, options_);
    snapshot_.nodes.push_back({.node = std::move(node), .configuration = std::move(configuration)});
  }
}

void Taker::take_pods() {
  std::set<std::string_view> gpu_nodes;
  for (const auto& node : snapshot_.nodes) {
    if (has_gpus(node.node, options_)) gpu_nodes.insert(node.node.name);
  }
  for (const auto& node : snapshot_.gpu_nodes) gpu_nodes.insert(node.name);
  // Which nodes have GPUs is not known then: a Pod that runs anywhere may run on one.
  const bool nodes_unknown = std::ranges::any_of(
      snapshot_.gaps, [](const Gap& gap) { return gap.resource == kNode.resource(); });
  for (auto& pod : list(kPod, parse_snapshot_pod)) {
    const bool on_gpus =
        !pod.pod.node.empty() && (nodes_unknown || gpu_nodes.contains(pod.pod.node));
    if (!on_gpus && !asks_for_gpus(pod, options_)) continue;
    keep_read(pod.pod.annotations);
    snapshot_.pods.push_back(std::move(pod));
  }
}

void Taker::take_config_maps() {
  std::set<ObjectKey> keys(options_.config_maps.begin(), options_.config_maps.end());
  for (const auto& node : snapshot_.nodes) {
    const auto key =
        node.configuration ? config_map_of(node.configuration->condition.message) : std::nullopt;
    if (key) keys.insert(*key);
  }
  for (const auto& policy : snapshot_.cluster_policies) {
    if (options_.policy_namespace.empty() || policy.config_name.value_or("").empty()) continue;
    keys.insert({options_.policy_namespace, *policy.config_name});
  }
  for (const auto& key : keys) {
    const auto object = objects_.get(kConfigMap, key, call_);
    if (!seen(kConfigMap, key.to_string(), object)) continue;
    auto map = parse_config_map(object->json);
    if (!map) {
      add_gap(kConfigMap, key.to_string(), map.error());
      continue;
    }
    keep_read(map->annotations);
    snapshot_.config_maps.push_back(*std::move(map));
  }
}

void Taker::take_quotas() {
  for (auto& quota : list(kResourceQuota, parse_resource_quota)) {
    keep_gpu_quotas(quota, options_);
    if (!quota.hard.empty()) snapshot_.quotas.push_back(std::move(quota));
  }
}

void Taker::take_claims() {
  snapshot_.slices = list(kResourceSlice, parse_resource_slice);
  snapshot_.claims = list(kResourceClaim, parse_snapshot_claim);
  for (auto& value : snapshot_.claims) keep_gpu_parameters(value.claim, options_);
  snapshot_.device_classes = list(kDeviceClass, parse_device_class);
}

Result<Snapshot> Taker::take() {
  snapshot_.taken_at = options_.now;
  snapshot_.server = options_.server;
  snapshot_.taken_by = options_.taken_by;
  take_nodes();
  if (first_ && is_out_of_reach(*first_)) return std::unexpected(*std::move(first_));
  snapshot_.gpu_nodes = list(kGpuNode, parse_gpu_node);
  take_pods();
  snapshot_.cluster_policies = list(kClusterPolicy, parse_cluster_policy);
  take_config_maps();
  snapshot_.tiers = list(kGpuTier, parse_gpu_tier);
  snapshot_.namespaces = list(kNamespace, parse_namespace);
  take_quotas();
  snapshot_.budgets = list(kPodDisruptionBudget, parse_disruption_budget);
  take_claims();
  // Half a snapshot that looks whole is worse than none.
  if (call_.stop.stop_requested()) return fail(Code::kUnavailable, "stopped");
  if (!any_) {
    return std::unexpected(std::move(*first_).with_context("nothing of the cluster could be read"));
  }
  return sorted(std::move(snapshot_));
}

}  // namespace

Result<Snapshot> take(Objects& objects, const TakeOptions& options, const Call& call) {
  return Taker(objects, options, call).take();
}

}  // namespace tranche::cluster
