#include "fleet/tally.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "fleet/cause.h"
#include "fleet/node_count.h"
#include "fleet/read_facts.h"
#include "fleet/tier_of.h"

namespace tranche::fleet {
namespace {

using usage::Mechanism;

bool has_ended(const PodFacts& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }
// Running on its node, or about to.
bool is_bound(const PodFacts& pod) { return !pod.node.empty() && !has_ended(pod); }
bool is_waiting(const PodFacts& pod) {
  return !has_ended(pod) && (pod.node.empty() || pod.phase == "Pending");
}

bool lacks_claim(const Facts& facts, const PodFacts& pod) {
  return std::ranges::any_of(
      pod.claims, [&](const auto& claim) { return !facts.claims.contains({pod.key.ns, claim}); });
}

class Counter {
 public:
  explicit Counter(const Facts& facts) : facts_(facts) {}

  Tally count() {
    const auto nodes = gpu_nodes_of(facts_);
    const std::set<std::string_view> known(nodes.begin(), nodes.end());
    for (const auto& [key, pod] : facts_.pods) {
      // Anybody may write any name of a node into a Pod.
      if (is_bound(pod) && known.contains(pod.node)) add_bound(pod);
    }
    for (const auto& name : nodes) add_node(name);
    for (auto& [resource, rooms] : rooms_) {
      std::ranges::stable_sort(rooms, std::ranges::greater(), &Room::left);
    }
    for (const auto& [key, pod] : facts_.pods) {
      if (is_waiting(pod)) add_waiting(pod);
      if (has_ended(pod)) add_rejected(pod);
    }
    return finish();
  }

 private:
  using Kind = std::tuple<Mechanism, std::string, std::string>;      // resource, tier
  using UseKey = std::tuple<std::string, std::string, std::string>;  // ns, resource, tier
  using PendingKey = std::tuple<std::string, std::string, std::string, Cause>;

  void add_bound(const PodFacts& pod);
  void add_node(const std::string& name);
  void add_claimed(const std::string& node);
  void add_row(const NodeTranches& one, const std::string& tier);
  void add_waiting(const PodFacts& pod);
  void add_pending(const PodFacts& pod, const Wish& wish, Cause cause);
  void add_rejected(const PodFacts& pod);
  std::vector<Wish> wishes_of(const PodFacts& pod) const;
  std::string row_name(const std::string& resource) const;
  Capacity* row_of(const std::string& resource, const std::string& tier,
                   std::optional<Mechanism> mechanism);
  NamespaceUse& use_of(const std::string& ns, const std::string& resource, const std::string& tier);
  Tally finish();

  const Facts& facts_;
  std::map<std::string, Amounts> asked_;  // by node
  Rooms rooms_;
  std::map<Kind, Capacity> capacity_;
  std::map<UseKey, NamespaceUse> uses_;
  std::map<PendingKey, PendingGroup> pending_;
  std::map<std::pair<std::string, std::string>, RejectedGroup> rejected_;
  std::vector<WaitingPod> waiting_;
};

NamespaceUse& Counter::use_of(const std::string& ns, const std::string& resource,
                              const std::string& tier) {
  auto& use = uses_[{ns, resource, tier}];
  use.ns = ns;
  use.resource = resource;
  use.tier = tier;
  return use;
}

void Counter::add_bound(const PodFacts& pod) {
  for (const auto& [resource, count] : pod.wants) {
    auto& asked = asked_[pod.node][resource];
    asked = sum_of(asked, count);
    auto& use = use_of(pod.key.ns, resource, tier_of_pod(facts_, pod, resource));
    use.allocated = sum_of(use.allocated, count);
  }
}

void Counter::add_row(const NodeTranches& one, const std::string& tier) {
  auto& row = capacity_[{one.mechanism, one.resource, tier}];
  row.resource = one.resource;
  row.mechanism = one.mechanism;
  row.tier = tier;
  row.advertised = sum_of(row.advertised, one.advertised);
  row.allocated = sum_of(row.allocated, one.allocated);
  row.withheld = sum_of(row.withheld, one.withheld);
  row.free = sum_of(row.free, one.free);
}

void Counter::add_node(const std::string& name) {
  static const NodeFacts kUnknown;
  const auto node = facts_.nodes.find(name);
  const auto gpu_node = facts_.gpu_nodes.find(name);
  const auto* facts = node == facts_.nodes.end() ? nullptr : &node->second;
  const auto asked = asked_.find(name);
  const bool open = closed_of(facts).empty();
  for (const auto& one :
       count_tranches(facts, gpu_node == facts_.gpu_nodes.end() ? nullptr : &gpu_node->second,
                      asked == asked_.end() ? Amounts() : asked->second)) {
    add_row(one, facts == nullptr ? "" : tier_of_node(facts_, *facts, one));
    if (one.advertised > 0) {
      rooms_[one.resource].push_back({facts == nullptr ? &kUnknown : facts, one.left, open});
    }
  }
  add_claimed(name);
}

// What claims have: of a device, each namespace that has a part of it.
void Counter::add_claimed(const std::string& node) {
  const auto found = facts_.gpu_nodes.find(node);
  if (found == facts_.gpu_nodes.end() || !found->second.status) return;
  std::set<std::pair<std::string, std::string>> seen;  // device, namespace
  for (const auto& holding : found->second.status->holdings) {
    if (holding.wire != "claim" || holding.ns.empty()) continue;
    if (!seen.emplace(holding.device, holding.ns).second) continue;
    auto& use = use_of(holding.ns, facts_.driver, "");
    use.allocated = sum_of(use.allocated, 1);
  }
}

// ---- who waits

// Of claims, the devices of our classes; a claim that is there twice counts once.
std::vector<Wish> Counter::wishes_of(const PodFacts& pod) const {
  std::vector<Wish> wishes;
  for (const auto& [resource, count] : pod.wants) wishes.push_back({resource, count});
  std::map<std::string, std::uint64_t> devices;
  for (const auto& name : std::set<std::string>(pod.claims.begin(), pod.claims.end())) {
    const auto claim = facts_.claims.find({pod.key.ns, name});
    if (claim == facts_.claims.end()) continue;
    for (const auto& wish : claim->second.wants) {
      if (facts_.classes.contains(wish.resource)) {
        devices[wish.resource] = sum_of(devices[wish.resource], wish.count);
      }
    }
  }
  for (const auto& [name, count] : devices) wishes.push_back({name, count});
  std::ranges::sort(wishes, {}, &Wish::resource);
  return wishes;
}

// The rows of claims have the driver's name.
std::string Counter::row_name(const std::string& resource) const {
  return facts_.classes.contains(resource) ? facts_.driver : resource;
}

// The row of this tier, else the first one of the resource; null: no node has it.
Capacity* Counter::row_of(const std::string& resource, const std::string& tier,
                          std::optional<Mechanism> mechanism) {
  Capacity* first = nullptr;
  for (auto& [kind, row] : capacity_) {
    if (row.resource != resource || row.advertised == 0) continue;
    if (mechanism && row.mechanism != *mechanism) continue;
    if (row.tier == tier) return &row;
    if (first == nullptr) first = &row;
  }
  return first;
}

void Counter::add_pending(const PodFacts& pod, const Wish& wish, Cause cause) {
  const auto device_class = facts_.classes.find(wish.resource);
  const bool claimed = device_class != facts_.classes.end();
  const auto resource = row_name(wish.resource);
  const auto tier = claimed ? std::string() : tier_of_pod(facts_, pod, resource);
  auto* row = row_of(resource, tier, claimed ? std::optional(device_class->second) : std::nullopt);
  auto& group = pending_[{pod.key.ns, resource, tier, cause}];
  if (group.pods == 0) {
    group = {.ns = pod.key.ns, .resource = resource, .tier = tier, .cause = cause};
    group.oldest = pod.created;
  }
  if (row != nullptr) group.mechanism = row->mechanism;
  ++group.pods;
  group.oldest = std::min(group.oldest, pod.created);
  // It has its place already.
  if (cause == Cause::kStarting) return;
  if (row != nullptr) row->pending = sum_of(row->pending, wish.count);
  auto& use = use_of(pod.key.ns, resource, tier);
  use.pending = sum_of(use.pending, wish.count);
}

WaitingPod waiting_pod(const PodFacts& pod, Explained why) {
  return {.ns = pod.key.ns,
          .pod = pod.key.name,
          .since = std::chrono::floor<std::chrono::seconds>(pod.created),
          .cause = why.cause,
          .message = std::move(why.message),
          .node = pod.node};
}

void Counter::add_waiting(const PodFacts& pod) {
  auto made = waiting_pod(pod, explain(facts_, rooms_, pod));
  made.wants = wishes_of(pod);
  if (made.wants.empty()) {
    // Its claims are of other devices; or they are not there, and then nobody knows.
    if (!lacks_claim(facts_, pod) || facts_.classes.empty()) return;
    add_pending(pod, {.resource = facts_.driver, .count = 0}, made.cause);
  }
  if (!pod.wants.empty()) made.tier = tier_of_pod(facts_, pod, pod.wants.begin()->first);
  for (const auto& wish : made.wants) add_pending(pod, wish, made.cause);
  waiting_.push_back(std::move(made));
}

void Counter::add_rejected(const PodFacts& pod) {
  auto why = explain_rejection(pod);
  if (!why || pod.wants.empty()) return;
  const auto node = facts_.nodes.find(pod.node);
  auto& group = rejected_[{pod.reason, pod.node}];
  group.reason = pod.reason;
  group.node = pod.node;
  if (node != facts_.nodes.end()) {
    group.product = cluster::value_of(node->second.labels, "nvidia.com/gpu.product");
  }
  ++group.pods;
  auto made = waiting_pod(pod, *std::move(why));
  made.wants = wishes_of(pod);
  made.tier = tier_of_pod(facts_, pod, pod.wants.begin()->first);
  waiting_.push_back(std::move(made));
}

template <class Map>
auto values_of(Map&& map) {
  std::vector<typename std::remove_cvref_t<Map>::mapped_type> values;
  values.reserve(map.size());
  for (auto& [key, value] : map) values.push_back(std::move(value));
  return values;
}

Tally Counter::finish() {
  std::ranges::stable_sort(waiting_, {}, &WaitingPod::since);
  if (waiting_.size() > kMostWaiting) waiting_.resize(kMostWaiting);
  return {.capacity = values_of(std::move(capacity_)),
          .namespaces = values_of(std::move(uses_)),
          .waiting = std::move(waiting_),
          .pending = values_of(std::move(pending_)),
          .rejected = values_of(std::move(rejected_))};
}

}  // namespace

std::vector<std::string> gpu_nodes_of(const Facts& facts) {
  std::set<std::string> names;
  for (const auto& [name, node] : facts.gpu_nodes) names.insert(name);
  for (const auto& [name, node] : facts.nodes) {
    if (!node.resources.empty()) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Tally tally(const Facts& facts) { return Counter(facts).count(); }

}  // namespace tranche::fleet
