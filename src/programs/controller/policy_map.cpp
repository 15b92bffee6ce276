#include "controller/policy_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/first_few.h"
#include "cluster/formats/policy_annotations.h"
#include "cluster/formats/reasons.h"
#include "cluster/kinds.h"

namespace tranche::controller {
namespace {

using cluster::ClusterPolicy;

constexpr std::array kAnnotations = {cluster::kDefaultAnnotation, cluster::kFallbackAnnotation,
                                     cluster::kMigStrategyAnnotation, cluster::kWithholdAnnotation};
constexpr auto kMigStrategies = std::to_array<std::string_view>({"none", "single", "mixed"});
// Kubernetes limits a condition's message to 32768 bytes.
constexpr std::size_t kLongestList = 30'000;
constexpr std::size_t kNamedNodes = 10;  // how many nodes a message names

Condition applied(std::string reason, std::string message) {
  return {kAppliedCondition, true, std::move(reason), std::move(message)};
}

Condition refused(std::string reason, std::string message) {
  return {kAppliedCondition, false, std::move(reason), std::move(message)};
}

// An empty text counts as not set, as in the operator.
std::string text_of(const std::optional<std::string>& text) { return text.value_or(""); }

// The agents' present content, without the reason to withhold, which is decided anew.
MapContent keep(const PolicyFacts& facts) {
  auto content = facts.now;
  content.annotations.erase(cluster::kWithholdAnnotation);
  return content;
}

std::string keys_of(const cluster::ConfigMap& map) {
  if (map.data.empty()) return "it has no keys";
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : map.data) keys.push_back(key);
  return fmt::format("it has {}", fmt::join(keys, ", "));
}

std::optional<Condition> find_fault(const PolicyFacts& facts, const ClusterPolicy& policy) {
  const auto strategy = text_of(policy.mig_strategy);
  if (!strategy.empty() && std::ranges::find(kMigStrategies, strategy) == kMigStrategies.end()) {
    return refused(cluster::reason::kMigStrategyUnknown,
                   fmt::format("spec.mig.strategy is '{}': nodes keep the configuration that they "
                               "have; write none, single or mixed",
                               strategy));
  }
  const auto name = text_of(policy.config_name);
  if (name.empty()) return std::nullopt;
  if (name == facts.out_name) {
    return refused(
        cluster::reason::kConfigMapIsTheControllers,
        fmt::format("spec.devicePlugin.config.name is {}, the ConfigMap that this controller "
                    "writes: nodes keep the configuration that they have; name one of your own",
                    name));
  }
  if (!facts.named) {
    return refused(cluster::reason::kConfigMapMissing,
                   fmt::format("ConfigMap {0}/{1} of spec.devicePlugin.config.name does not exist: "
                               "nodes keep the configuration that they have; create it (kubectl "
                               "create configmap {1} -n {0} --from-file=...) or name another",
                               facts.ns, name));
  }
  const auto wanted = text_of(policy.config_default);
  if (wanted.empty() || facts.named->data.contains(wanted)) return std::nullopt;
  return refused(
      cluster::reason::kDefaultMissing,
      fmt::format("ConfigMap {}/{} has no key {} of spec.devicePlugin.config.default ({}): "
                  "nodes keep the configuration that they have; add the key or name "
                  "another",
                  facts.ns, name, wanted, keys_of(*facts.named)));
}

// The content for the agents when the policy has no fault.
MapContent follow(const PolicyFacts& facts, const ClusterPolicy* policy) {
  MapContent content;
  content.annotations[cluster::kFallbackAnnotation] = "empty";
  content.annotations[cluster::kDefaultAnnotation] = "";
  if (policy == nullptr) return content;
  if (const auto strategy = text_of(policy->mig_strategy); !strategy.empty()) {
    content.annotations[cluster::kMigStrategyAnnotation] = strategy;
  }
  if (text_of(policy->config_name).empty()) return content;
  content.data = facts.named->data;
  content.annotations[cluster::kDefaultAnnotation] = text_of(policy->config_default);
  return content;
}

std::string mig_text(const ClusterPolicy& policy) {
  const auto strategy = text_of(policy.mig_strategy);
  return strategy.empty() ? "" : fmt::format("; MIG strategy {}", strategy);
}

Condition success(const PolicyFacts& facts, const ClusterPolicy& policy) {
  const auto name = text_of(policy.config_name);
  const auto wanted = text_of(policy.config_default);
  if (name.empty()) {
    const auto unused =
        wanted.empty() ? "" : fmt::format("; config.default ({}) has no effect without it", wanted);
    return applied(cluster::reason::kNoConfigNamed,
                   fmt::format("spec.devicePlugin.config.name names no ConfigMap: GPUs are not "
                               "shared{}{}",
                               unused, mig_text(policy)));
  }
  const auto rest = wanted.empty() ? std::string("GPUs are not shared") : "key " + wanted;
  return applied(
      cluster::reason::kConfigFollowed,
      fmt::format("nodes follow ConfigMap {}/{}: by the label nvidia.com/device-plugin.config the "
                  "key that it names, without the label {}{}",
                  facts.ns, name, rest, mig_text(policy)));
}

// "gpu-1 (AnotherPlugin), gpu-2 (SocketHeld) and 3 more".
std::string named(const NodeReasons& nodes) {
  std::vector<std::string> texts;
  for (const auto& [node, reason] : nodes) {
    texts.push_back(fmt::format("{} ({})", node, reason));
  }
  return first_few(texts, kNamedNodes);
}

// What to check when no node of the DaemonSet serves.
std::string check_of(const PolicyFacts& facts) {
  if (!facts.not_serving.empty()) {
    return fmt::format("{}: kubectl describe node NODE, condition {}", named(facts.not_serving),
                       cluster::condition::kTrancheServing);
  }
  if (facts.agents->desired > 0) {
    return fmt::format("none of its Pods is ready: kubectl -n {} get pods -o wide", facts.ns);
  }
  return "no node has a label of its affinity: kubectl label node NODE nvidia.com/gpu.present=true";
}

// What is wrong with the agents; nullopt: at least one serves, or their DaemonSet's name is not
// set.
std::optional<Condition> find_unserved(const PolicyFacts& facts) {
  if (facts.agents_name.empty()) return std::nullopt;
  const auto set = fmt::format("{}/{}", facts.ns, facts.agents_name);
  if (!facts.agents) {
    return refused(cluster::reason::kNoNodeServes,
                   fmt::format("no node serves: there is no DaemonSet {}", set));
  }
  if (facts.agents->ready > std::ssize(facts.not_serving)) return std::nullopt;
  return refused(cluster::reason::kNoNodeServes,
                 fmt::format("0 of {} nodes of DaemonSet {} serve: {}", facts.agents->desired, set,
                             check_of(facts)));
}

std::string withhold_text(const OperatorPlugin& plugin) {
  return fmt::format(
      "the GPU operator's own device plugin (DaemonSet {}) serves ClusterPolicy {}, so Tranche "
      "advertises no GPU; to hand over: kubectl patch clusterpolicies.nvidia.com/{} --type merge "
      "-p '{{\"spec\":{{\"devicePlugin\":{{\"enabled\":false}}}}}}'",
      plugin.daemon_set, plugin.policy, plugin.policy);
}

std::string_view without_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// The fields without effect: those that are not read, and an MPS folder that no Pod mounts.
std::vector<std::string> unserved_fields(const PolicyFacts& facts, const ClusterPolicy& policy) {
  auto fields = policy.other_fields;
  const auto root = text_of(policy.mps_root);
  if (root.empty() || without_slash(root) == without_slash(facts.mps_root)) return fields;
  fields.insert(fields.begin(),
                fmt::format("devicePlugin.mps.root (it is {}, Tranche's is {}: install it with "
                            "mps.root={})",
                            root, facts.mps_root.empty() ? "not told" : facts.mps_root, root));
  return fields;
}

Decision decide_for(const PolicyFacts& facts, const ClusterPolicy& policy) {
  const auto fault = find_fault(facts, policy);
  Decision decision{.map = fault ? keep(facts) : follow(facts, &policy)};
  if (facts.operator_plugin) {
    const auto why = withhold_text(*facts.operator_plugin);
    decision.map.annotations[cluster::kWithholdAnnotation] = why;
    decision.conditions.push_back(refused(cluster::reason::kOperatorServes, why));
  } else {
    const auto unserved = fault ? fault : find_unserved(facts);
    decision.conditions.push_back(unserved ? *unserved : success(facts, policy));
    if (!unserved && !facts.not_serving.empty()) {
      decision.conditions.back().message +=
          fmt::format("; not on {}: condition {}", named(facts.not_serving),
                      cluster::condition::kTrancheServing);
    }
  }
  decision.conditions.push_back(unserved(unserved_fields(facts, policy)));
  return decision;
}

}  // namespace

MapContent content_of(const cluster::ConfigMap& map) {
  MapContent content{.data = map.data, .annotations = {}};
  for (const auto& [key, value] : map.annotations) {
    if (std::ranges::find(kAnnotations, std::string_view(key)) != kAnnotations.end()) {
      content.annotations.emplace(key, value);
    }
  }
  return content;
}

const PolicyObject* oldest(std::span<const PolicyObject> policies) {
  const auto age = [](const PolicyObject& policy) { return std::tie(policy.created, policy.name); };
  const auto found = std::ranges::min_element(policies, {}, age);
  return found == policies.end() ? nullptr : &*found;
}

std::optional<OperatorPlugin> find_operator_plugin(std::span<const cluster::DaemonSet> daemon_sets,
                                                   std::span<const PolicyObject> policies) {
  for (const auto& daemon_set : daemon_sets) {
    for (const auto& owner : daemon_set.owners) {
      const bool ours = owner.kind == cluster::kClusterPolicy.kind &&
                        owner.api_version.starts_with("nvidia.com/");
      const auto policy = std::ranges::find(policies, owner.name, &PolicyObject::name);
      if (!ours || policy == policies.end()) continue;
      // A policy that cannot be read may want the plugin.
      if (policy->policy && !policy->policy->device_plugin_enabled.value_or(true)) continue;
      return OperatorPlugin{daemon_set.key.to_string(), owner.name};
    }
  }
  return std::nullopt;
}

Decision decide(const PolicyFacts& facts) {
  if (!facts.policy) return {.map = follow(facts, nullptr), .conditions = {}};
  if (*facts.policy) return decide_for(facts, **facts.policy);
  // An unreadable policy also does not say whether the operator should serve, so what is withheld
  // stays withheld.
  return {.map = facts.now,
          .conditions = {refused(cluster::reason::kPolicyUnreadable,
                                 fmt::format("{}: nodes keep the configuration that they have; "
                                             "correct the field",
                                             facts.policy->error().message()))}};
}

Condition ignored(const std::string& obeyed) {
  return refused(cluster::reason::kIgnored,
                 fmt::format("ClusterPolicy {} is older and the one that is obeyed; a cluster has "
                             "one: delete one of them",
                             obeyed));
}

Condition unserved(const std::vector<std::string>& fields) {
  if (fields.empty()) {
    return {kUnservedCondition, false, cluster::reason::kAllServed,
            "every field that is set is obeyed"};
  }
  std::string list;
  std::size_t listed = 0;
  for (const auto& field : fields) {
    if (list.size() + field.size() > kLongestList) break;
    list += (listed == 0 ? "" : ", ") + field;
    ++listed;
  }
  if (listed < fields.size()) list += fmt::format(" and {} more", fields.size() - listed);
  return {
      kUnservedCondition, true, cluster::reason::kFieldsNotServed,
      fmt::format("set, and not served by Tranche (a GPU operator that runs here may): {}", list)};
}

}  // namespace tranche::controller
