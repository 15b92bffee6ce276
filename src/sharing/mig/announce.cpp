#include "mig/announce.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/first_few.h"
#include "mig/node_filter.h"

namespace tranche::mig {
namespace {

using cluster::MigChange;
using cluster::Node;
using cluster::SnapshotPod;
using Amounts = std::map<std::string, std::int64_t>;

std::int64_t amount_of(const Amounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

std::string name_of(const SnapshotPod& pod) { return pod.pod.ns + '/' + pod.pod.name; }

// ---- where a Pod can go

bool takes_pods(const Node& node) { return is_ready(node) && !node.unschedulable; }

// What is free on each node, counted down as Pods are placed.
class Room {
 public:
  Room(const MigChange& change, std::string here, const std::vector<Node>& nodes,
       const std::vector<SnapshotPod>& pods)
      : here_(std::move(here)), nodes_(nodes), after_(change.after), before_(change.before) {
    const std::set<cluster::ObjectKey> leaving(change.pods.begin(), change.pods.end());
    for (const auto& pod : pods) {
      if (pod.pod.node.empty() || cluster::has_ended(pod.pod)) continue;
      if (pod.pod.node == here_ && leaving.contains({pod.pod.ns, pod.pod.name})) continue;
      take(pod.pod.node, cluster::requests_of(pod.pod));
    }
  }

  enum class Where { kHere, kElsewhere };
  // Takes the place on the first node that has it, by name.
  std::optional<std::string> place(const SnapshotPod& pod, Where where) {
    const bool here = where == Where::kHere;
    const auto asks = cluster::requests_of(pod.pod);
    const NodeFilter filter(pod);
    for (const auto& node : nodes_) {
      if ((node.name == here_) != here || !filter.takes(node)) continue;
      // This node's own cordon goes with the change.
      if (!(here ? is_ready(node) : takes_pods(node)) || !fits(node, asks)) continue;
      take(node.name, asks);
      return node.name;
    }
    return std::nullopt;
  }

 private:
  void take(const std::string& node, const Amounts& asks) {
    for (const auto& [resource, amount] : asks) taken_[{node, resource}] += amount;
  }
  std::int64_t offered(const Node& node, const std::string& resource) const {
    const bool changes = after_.contains(resource) || before_.contains(resource);
    if (node.name == here_ && changes) return amount_of(after_, resource);
    return allocatable(node, resource);
  }
  bool fits(const Node& node, const Amounts& asks) const {
    return std::ranges::all_of(asks, [&](const auto& ask) {
      const auto found = taken_.find({node.name, ask.first});
      const auto taken = found == taken_.end() ? 0 : found->second;
      return offered(node, ask.first) - taken >= ask.second;
    });
  }

  const std::string here_;
  const std::vector<Node>& nodes_;
  const Amounts& after_;
  const Amounts& before_;
  std::map<std::pair<std::string, std::string>, std::int64_t> taken_;  // by node and resource
};

// ---- the parts of an announcement

std::set<std::string> names_in(const MigChange& change) {
  std::set<std::string> names;
  for (const auto& [resource, amount] : change.before) names.insert(resource);
  for (const auto& [resource, amount] : change.after) names.insert(resource);
  return names;
}

std::vector<ResourceChange> resources_of(const MigChange& change) {
  std::vector<ResourceChange> changes;
  for (const auto& name : names_in(change)) {
    const ResourceChange one{name, amount_of(change.before, name), amount_of(change.after, name)};
    if (one.before != one.after) changes.push_back(one);
  }
  return changes;
}

std::vector<std::string> outages_of(const std::vector<ResourceChange>& changes,
                                    const std::string& here, const std::vector<Node>& nodes) {
  std::vector<std::string> outages;
  for (const auto& change : changes) {
    const bool elsewhere = std::ranges::any_of(nodes, [&](const Node& node) {
      return node.name != here && takes_pods(node) && allocatable(node, change.resource) > 0;
    });
    if (change.after == 0 && !elsewhere) outages.push_back(change.resource);
  }
  return outages;
}

// The controller that recreates the Pod; nullptr: none.
const cluster::OwnerReference* controller_of(const cluster::Pod& pod) {
  const auto found = std::ranges::find_if(pod.owners, &cluster::OwnerReference::controller);
  return found == pod.owners.end() ? nullptr : &*found;
}

EndingPod ending(const SnapshotPod& pod, Room& room) {
  using enum EndingPod::Fate;
  EndingPod one{.name = name_of(pod), .asks = cluster::requests_of(pod.pod)};
  const auto* const owner = controller_of(pod.pod);
  if (cluster::is_mirror(pod.pod)) {
    one.fate = kStays;
  } else if (owner == nullptr) {
    one.fate = kGone;
  } else if (const auto place = owner->kind == "DaemonSet"
                                    ? std::nullopt
                                    : room.place(pod, Room::Where::kElsewhere)) {
    one.fate = kMoves;
    one.node = *place;
  } else {
    one.fate = room.place(pod, Room::Where::kHere) ? kReturns : kPends;
  }
  return one;
}

std::vector<EndingPod> ending_pods(const MigChange& change, const std::string& here, Room& room,
                                   const std::vector<SnapshotPod>& pods) {
  const std::set<cluster::ObjectKey> leaving(change.pods.begin(), change.pods.end());
  std::vector<const SnapshotPod*> found;
  for (const auto& pod : pods) {
    const bool is_meant = pod.pod.node == here && leaving.contains({pod.pod.ns, pod.pod.name});
    if (is_meant && !cluster::has_ended(pod.pod)) found.push_back(&pod);
  }
  // The scheduler's order.
  std::ranges::stable_sort(found, std::ranges::greater(), &SnapshotPod::priority);
  std::vector<EndingPod> all;
  for (const auto* pod : found) {
    all.push_back(ending(*pod, room));
    const auto why = change.why.find({pod->pod.ns, pod->pod.name});
    if (why != change.why.end()) all.back().why = why->second;
  }
  return all;
}

std::vector<WaitingPod> waiting_pods(const std::vector<ResourceChange>& changes,
                                     const std::vector<SnapshotPod>& pods) {
  std::vector<WaitingPod> waiting;
  for (const auto& pod : pods) {
    if (!pod.pod.node.empty() || cluster::has_ended(pod.pod) || pod.pod.deleting) continue;
    const auto asks = cluster::requests_of(pod.pod);
    for (const auto& change : changes) {
      if (amount_of(asks, change.resource) == 0) continue;
      waiting.push_back({name_of(pod), change.resource, change.after > change.before});
    }
  }
  return waiting;
}

// ---- words

constexpr std::size_t kLongestSummary = 1000;
// The most Pods and resources named in a summary.
constexpr std::size_t kNamed = 6;

std::string asks_text(const Amounts& asks) {
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : asks)
    parts.push_back(fmt::format("{}: {}", resource, amount));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string fate_alone(const EndingPod& pod, const std::string& here) {
  switch (pod.fate) {
    case EndingPod::Fate::kMoves:
      return fmt::format("{} has place", pod.node);
    case EndingPod::Fate::kReturns:
      return fmt::format("waits for {}", here);
    case EndingPod::Fate::kPends:
      return "finds no place";
    case EndingPod::Fate::kGone:
      return "nothing makes it anew";
    case EndingPod::Fate::kStays:
      break;
  }
  return "a static Pod, which is not evicted";
}

std::string fate_text(const EndingPod& pod, const std::string& here) {
  return pod.why.empty() ? fate_alone(pod, here)
                         : fmt::format("{}; {}", fate_alone(pod, here), pod.why);
}

std::vector<std::string> resource_texts(const Announcement& announcement, const char* form) {
  std::vector<std::string> texts;
  for (const auto& one : announcement.resources) {
    texts.push_back(fmt::format(fmt::runtime(form), one.resource, one.before, one.after));
  }
  return texts;
}

std::vector<std::string> pod_texts(const Announcement& announcement) {
  std::vector<std::string> texts;
  for (const auto& pod : announcement.pods) {
    texts.push_back(fmt::format("{} ({})", pod.name, fate_text(pod, announcement.node)));
  }
  return texts;
}

// The first line after the head, the others below it.
std::string block(std::string_view head, const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) {
    text += fmt::format("  {:<15} {}\n", text.empty() ? head : "", line);
  }
  return text;
}

}  // namespace

Announcement announce(const MigChange& change, const std::string& node,
                      const std::vector<Node>& nodes, const std::vector<SnapshotPod>& pods) {
  Announcement announcement{
      .node = node, .layout = change.layout, .resources = resources_of(change)};
  Room room(change, node, nodes, pods);
  announcement.pods = ending_pods(change, node, room, pods);
  announcement.waiting = waiting_pods(announcement.resources, pods);
  announcement.outages = outages_of(announcement.resources, node, nodes);
  return announcement;
}

std::vector<std::string> find_no_place(const Announcement& announcement) {
  std::vector<std::string> found;
  for (const auto& pod : announcement.pods) {
    if (pod.fate != EndingPod::Fate::kReturns && pod.fate != EndingPod::Fate::kPends) continue;
    found.push_back(fmt::format("{} ({})", pod.name, asks_text(pod.asks)));
  }
  return found;
}

std::string summary(const Announcement& announcement) {
  std::string text =
      fmt::format("MIG layout {} on {}: {}", announcement.layout, announcement.node,
                  announcement.resources.empty()
                      ? "no resource changes"
                      : first_few(resource_texts(announcement, "{} {} -> {}"), kNamed));
  if (!announcement.outages.empty()) {
    text += fmt::format("; no other node offers {}", first_few(announcement.outages, kNamed));
  }
  if (!announcement.pods.empty()) {
    text += fmt::format("; Pods that end: {}", first_few(pod_texts(announcement), kNamed));
  }
  const auto leaving = std::ranges::count(announcement.waiting, false, &WaitingPod::arrives);
  if (leaving > 0) text += fmt::format("; Pods that wait for what leaves: {}", leaving);
  return text.substr(0, kLongestSummary);
}

bool offers_what_left(const MigChange& change, const Node& node) {
  const auto& there_is = change.failed ? change.before : change.after;
  return std::ranges::any_of(names_in(change), [&](const std::string& resource) {
    return allocatable(node, resource) > amount_of(there_is, resource);
  });
}

std::string describe(const Announcement& announcement) {
  std::vector<std::string> pods;
  for (const auto& pod : announcement.pods) {
    pods.push_back(fmt::format("{} ({}): {}", pod.name, asks_text(pod.asks),
                               fate_text(pod, announcement.node)));
  }
  std::vector<std::string> waiting;
  for (const auto& pod : announcement.waiting) {
    waiting.push_back(fmt::format("{}: {} {} service", pod.name, pod.resource,
                                  pod.arrives ? "enters" : "leaves"));
  }
  std::vector<std::string> outages;
  for (const auto& one : announcement.outages) {
    outages.push_back(fmt::format("{}: no other node that takes Pods offers it", one));
  }
  return fmt::format("MIG layout {} on {}\n", announcement.layout, announcement.node) +
         block("resources", resource_texts(announcement, "{}: {} -> {}")) +
         block("Pods that end", pods) + block("Pods that wait", waiting) +
         block("outage", outages) +
         block("not looked at",
               {"cpu, memory, affinity to Pods, topology spread, quotas, resource claims"});
}

}  // namespace tranche::mig
