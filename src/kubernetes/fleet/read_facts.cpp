#include "fleet/read_facts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/quantity.h"
#include "cluster/fields.h"
#include "cluster/formats/reasons.h"
#include "cluster/pod.h"
#include "cluster/resource_claim.h"

namespace tranche::fleet {
namespace {

using cluster::Fields;

constexpr std::uint64_t kMostDevices = 1'000'000;

std::uint64_t count_of(const std::string& quantity) {
  const auto value = parse_quantity(quantity);
  return value && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

// Those that keep Pods off: PreferNoSchedule does not.
bool keeps_off(const cluster::Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

void read_condition(const cluster::NodeCondition& condition, NodeFacts& facts) {
  if (condition.type == "Ready") facts.ready = condition.status == "True";
  if (condition.type == cluster::condition::kTrancheServing && condition.status == "False") {
    facts.not_serving = condition.reason.empty() ? "no reason given" : condition.reason;
  }
}

// ---- Pods

std::vector<Toleration> read_tolerations(const Fields& spec) {
  std::vector<Toleration> tolerations;
  for (const auto& item : spec.list("tolerations")) {
    tolerations.push_back(
        {item.text("key"), item.text("operator"), item.text("value"), item.text("effect")});
  }
  return tolerations;
}

std::string waiting_of(const Fields& status) {
  for (const auto* const list : {"initContainerStatuses", "containerStatuses"}) {
    for (const auto& container : status.list(list)) {
      const auto waiting = container.object("state").object("waiting");
      const auto reason = waiting.text("reason");
      // Behind an init container everything is so.
      if (reason.empty() || reason == "PodInitializing") continue;
      const auto message = waiting.text("message");
      return message.empty() ? reason : reason + ": " + message;
    }
  }
  return {};
}

void read_conditions(const Fields& status, PodFacts& facts) {
  for (const auto& condition : status.list("conditions")) {
    if (condition.text("type") != "PodScheduled" || condition.text("status") != "False") continue;
    facts.unscheduled_reason = condition.text("reason");
    if (facts.unscheduled_reason.empty()) facts.unscheduled_reason = "Unschedulable";
    facts.unscheduled_message = condition.text("message");
  }
}

void read_rest(const Fields& top, PodFacts& facts) {
  const auto created = top.object("metadata").text("creationTimestamp");
  facts.created = cluster::parse_time(created).value_or(cluster::WallTime());
  const auto spec = top.object("spec");
  for (const auto& gate : spec.list("schedulingGates")) facts.gates.push_back(gate.text("name"));
  facts.tolerations = read_tolerations(spec);
  const auto status = top.object("status");
  read_conditions(status, facts);
  facts.starting = waiting_of(status);
}

// Of extended resources that a claim serves, the claim counts.
void read_wants(const cluster::Pod& pod, PodFacts& facts) {
  for (const auto& [resource, amount] : cluster::requests_of(pod)) {
    const bool is_gpu = resource.starts_with(kGpuDomain) && amount > 0;
    const bool is_claimed =
        std::ranges::find(pod.extended.uses, resource, &cluster::ExtendedUse::resource) !=
        pod.extended.uses.end();
    if (is_gpu && !is_claimed) facts.wants[resource] = static_cast<std::uint64_t>(amount);
  }
  for (const auto& claim : pod.claims) facts.claims.push_back(claim.object);
  if (!pod.extended.object.empty()) facts.claims.push_back(pod.extended.object);
}

// ---- claims

void add_wish(const Fields& request, std::vector<Wish>& wants) {
  const auto name = request.text("deviceClassName");
  if (name.empty() || request.boolean("adminAccess")) return;
  const auto count = request.maybe<std::int64_t>("count").value_or(1);
  wants.push_back(
      {name, std::min(kMostDevices, static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1)))});
}

}  // namespace

Result<NodeFacts> read_node(std::string_view json) {
  ASSIGN_OR_RETURN(auto node, cluster::parse_node(json));
  NodeFacts facts{.name = std::move(node.name),
                  .labels = std::move(node.labels),
                  .taints = std::move(node.taints),
                  .cordoned = node.unschedulable};
  std::erase_if(facts.taints, [](const auto& taint) { return !keeps_off(taint); });
  for (const auto& condition : node.conditions) read_condition(condition, facts);
  for (const auto& [resource, quantity] : node.capacity) {
    if (resource.starts_with(kGpuDomain)) facts.resources[resource].capacity = count_of(quantity);
  }
  for (const auto& [resource, quantity] : node.allocatable) {
    if (resource.starts_with(kGpuDomain)) {
      facts.resources[resource].allocatable = count_of(quantity);
    }
  }
  return facts;
}

Result<std::optional<PodFacts>> read_pod(std::string_view json) {
  ASSIGN_OR_RETURN(auto pod, cluster::parse_pod(json));
  PodFacts facts{.key = {pod.ns, pod.name},
                 .node = std::move(pod.node),
                 .phase = std::move(pod.phase),
                 .reason = std::move(pod.reason),
                 .message = std::move(pod.message),
                 .node_selector = std::move(pod.node_selector),
                 .priority_class = std::move(pod.priority_class)};
  read_wants(pod, facts);
  if (facts.wants.empty() && facts.claims.empty()) return std::nullopt;
  return cluster::read_object<PodFacts>("Pod", json, [&](const Fields& top, PodFacts& value) {
    read_rest(top, facts);
    value = std::move(facts);
  });
}

Result<ClaimFacts> read_claim(std::string_view json) {
  return cluster::read_object<ClaimFacts>(
      "ResourceClaim", json, [](const Fields& top, ClaimFacts& claim) {
        const auto allocation = top.object("status").view().find("allocation");
        claim.allocated = allocation && allocation->kind() == json::Kind::kObject;
        for (const auto& request : top.object("spec").object("devices").list("requests")) {
          add_wish(request.object("exactly"), claim.wants);
          // The first choice stands for all.
          const auto choices = request.list("firstAvailable");
          if (!choices.empty()) add_wish(choices.front(), claim.wants);
        }
      });
}

Result<std::optional<usage::Mechanism>> read_class(std::string_view json, std::string_view driver) {
  ASSIGN_OR_RETURN(const auto selectors, cluster::parse_class_selectors(json));
  const auto mentions = [&](std::string_view word) {
    return std::ranges::any_of(
        selectors, [&](const auto& selector) { return selector.find(word) != std::string::npos; });
  };
  if (!mentions(driver)) return std::nullopt;
  return mentions("'mig'") || mentions("\"mig\"") ? usage::Mechanism::kMig
                                                  : usage::Mechanism::kShare;
}

}  // namespace tranche::fleet
