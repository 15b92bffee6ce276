#include "controller/fleet_facts.h"

#include <fmt/format.h>

#include <utility>

#include "base/json.h"
#include "base/json_value.h"
#include "cluster/snapshot/parts.h"
#include "fleet/read_facts.h"

namespace tranche::controller {
namespace {

using cluster::CacheChange;
using cluster::ChangeType;

Watched pods_with_gpus() {
  return {.kind = cluster::kPod,
          .selection = {.field_selector = "status.phase!=Succeeded"},
          .reduce = {.name = "facts of GPUs", .make = fleet::kept_of_pod},
          .in_pages = true};
}

Watched nodes_of_gpus() {
  return {.kind = cluster::kNode,
          .reduce = {.name = "facts of GPUs", .make = fleet::kept_of_node},
          .in_pages = true};
}

Watched claims() {
  return {.kind = cluster::kResourceClaim,
          .kind_may_be_missing = true,
          .reduce = {.name = "devices by class", .make = fleet::kept_of_claim},
          .in_pages = true};
}

// Where an agent runs, in the form of a Pod.
std::string kept_of_agent(const std::string& text) {
  const auto pod = json::parse(text);
  if (!pod) return text;
  json::Value kept = json::Value::object();
  const auto keep = [&](std::initializer_list<std::string_view> path, const char* part,
                        const char* key) {
    if (const auto found = pod->at(path)) kept[part][key] = json::Value::copy(*found);
  };
  keep({"metadata", "name"}, "metadata", "name");
  keep({"metadata", "namespace"}, "metadata", "namespace");
  keep({"spec", "nodeName"}, "spec", "nodeName");
  keep({"status", "podIP"}, "status", "podIP");
  keep({"status", "conditions"}, "status", "conditions");
  return kept.text();
}

Watched agent_pods(const FleetFacts::Options& options) {
  return {.kind = cluster::kPod,
          .selection = {.ns = options.agents_namespace, .label_selector = options.agent_selector},
          .reduce = {.name = "places", .make = kept_of_agent}};
}

}  // namespace

FleetFacts::FleetFacts(const WorkerContext& context, Options options)
    : options_(std::move(options)),
      log_(context.log),
      facts_{.cluster = options_.cluster, .driver = options_.driver},
      nodes_(context.watches, nodes_of_gpus(),
             [this](const CacheChange& change) { take_node(change); }),
      gpu_nodes_(context.watches, {.kind = cluster::kGpuNode, .kind_may_be_missing = true},
                 [this](const CacheChange& change) { take_gpu_node(change); }),
      pods_(context.watches, pods_with_gpus(),
            [this](const CacheChange& change) { take_pod(change); }),
      claims_(context.watches, claims(), [this](const CacheChange& change) { take_claim(change); }),
      classes_(context.watches, {.kind = cluster::kDeviceClass, .kind_may_be_missing = true},
               [this](const CacheChange& change) { take_class(change); }),
      tiers_(context.watches, {.kind = cluster::kGpuTier, .kind_may_be_missing = true},
             [this](const CacheChange& change) { take_tier(change); }),
      namespaces_(context.watches, {.kind = cluster::kNamespace, .in_pages = true},
                  [this](const CacheChange& change) { take_namespace(change); }) {
  if (options_.agent_selector.empty()) return;
  agent_pods_.emplace(context.watches, agent_pods(options_),
                      [this](const CacheChange& change) { take_agent(change); });
}

template <class Map, class Read>
void FleetFacts::take(Map& map, const typename Map::key_type& key, const CacheChange& change,
                      const Read& read) {
  if (change.type == ChangeType::kSynced) return;
  if (change.type == ChangeType::kDeleted || change.object.json.empty()) {
    const std::scoped_lock lock(mutex_);
    map.erase(key);
    return;
  }
  auto value = read(change.object.json);
  if (!value) {
    log_.debug(fmt::format("{} is not counted: {}", change.object.key.to_string(),
                           value.error().message()));
    return;
  }
  const std::scoped_lock lock(mutex_);
  map.insert_or_assign(key, *std::move(value));
}

void FleetFacts::take_node(const CacheChange& change) {
  take(facts_.nodes, change.object.key.name, change, fleet::read_node);
}

void FleetFacts::take_gpu_node(const CacheChange& change) {
  take(facts_.gpu_nodes, change.object.key.name, change, cluster::parse_gpu_node);
}

void FleetFacts::take_pod(const CacheChange& change) {
  take(facts_.pods, change.object.key, change,
       [](const std::string& text) -> Result<fleet::PodFacts> {
         ASSIGN_OR_RETURN(auto pod, fleet::read_pod(text));
         if (!pod) return fail(Code::kInternal, "a Pod without GPUs was kept");
         return *std::move(pod);
       });
}

void FleetFacts::take_claim(const CacheChange& change) {
  take(facts_.claims, change.object.key, change, fleet::read_claim);
}

void FleetFacts::take_class(const CacheChange& change) {
  auto ours = change;
  std::optional<usage::Mechanism> mechanism;
  if (change.type == ChangeType::kAdded || change.type == ChangeType::kModified) {
    const auto read = fleet::read_class(change.object.json, options_.driver);
    if (read) mechanism = *read;
    if (read && !mechanism) ours.type = ChangeType::kDeleted;
  }
  take(facts_.classes, change.object.key.name, ours,
       [&](const std::string&) -> Result<usage::Mechanism> {
         if (mechanism) return *mechanism;
         return fail(Code::kInvalidArgument, "it is no DeviceClass");
       });
}

void FleetFacts::take_tier(const CacheChange& change) {
  take(facts_.tiers, change.object.key.name, change, cluster::parse_gpu_tier);
}

void FleetFacts::take_namespace(const CacheChange& change) {
  take(facts_.namespaces, change.object.key.name, change,
       [](const std::string& text) -> Result<cluster::StringMap> {
         ASSIGN_OR_RETURN(auto read, cluster::parse_namespace(text));
         return std::move(read.labels);
       });
}

void FleetFacts::take_agent(const CacheChange& change) {
  take(agents_, change.object.key, change, [](const std::string& text) -> Result<Agent> {
    ASSIGN_OR_RETURN(const auto pod, cluster::parse_pod(text));
    ASSIGN_OR_RETURN(const auto root, json::parse(text));
    const auto address = root.at({"status", "podIP"});
    return Agent{
        .place = {.node = pod.node, .address = address ? address->as_string().value_or("") : ""},
        .ready = pod.ready};
  });
}

// While an update replaces a node's agent, the one that is ready answers.
std::vector<AgentPlace> FleetFacts::agents() const {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, Agent> by_node;
  for (const auto& [key, agent] : agents_) {
    if (agent.place.node.empty() || agent.place.address.empty()) continue;
    auto& known = by_node[agent.place.node];
    if (known.place.node.empty() || (agent.ready && !known.ready)) known = agent;
  }
  std::vector<AgentPlace> places;
  for (auto& [node, agent] : by_node) places.push_back(std::move(agent.place));
  return places;
}

std::vector<const Watch*> FleetFacts::watches() const {
  return {&nodes_,   &gpu_nodes_, &pods_,       &claims_,
          &classes_, &tiers_,     &namespaces_, agent_pods_ ? &*agent_pods_ : nullptr};
}

std::optional<std::string> FleetFacts::trouble() const { return trouble_of(watches()); }

bool FleetFacts::complete() const {
  for (const auto* watch : watches()) {
    if (watch != nullptr && !watch->synced()) return false;
  }
  return true;
}

}  // namespace tranche::controller
