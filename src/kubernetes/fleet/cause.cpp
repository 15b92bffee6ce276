#include "fleet/cause.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/utf8.h"
#include "fleet/read_facts.h"

namespace tranche::fleet {
namespace {

constexpr std::size_t kMostMessage = 1024;
constexpr std::size_t kMostLooked = 16;     // nodes on which taints and selectors are tried
constexpr std::size_t kMostReasons = 1000;  // of one message

// What a reason of the scheduler means, the first that it contains. The texts are those of
// Kubernetes 1.26 to 1.37.
struct Phrase {
  std::string_view text;
  Cause cause;
};
constexpr std::array kPhrases = {
    Phrase{"PersistentVolume", Cause::kOtherResource},
    Phrase{"persistent volume", Cause::kOtherResource},
    Phrase{"persistentvolumeclaim", Cause::kOtherResource},
    Phrase{"volume", Cause::kOtherResource},
    Phrase{"Too many pods", Cause::kOtherResource},
    Phrase{"free ports", Cause::kOtherResource},
    Phrase{"taint", Cause::kTaint},
    Phrase{"were unschedulable", Cause::kTaint},
    Phrase{"affinity", Cause::kAffinity},
    Phrase{"selector:", Cause::kAffinity},
    Phrase{"topology spread", Cause::kAffinity},
    Phrase{"quota", Cause::kQuota},
    Phrase{"extended resource claim", Cause::kNotEnough},
    Phrase{"cannot fit resource", Cause::kNotEnough},
    Phrase{"enough of mig profile", Cause::kNotEnough},
    Phrase{"claim", Cause::kClaim},
    Phrase{"device class", Cause::kClaim},
    Phrase{"resource pools", Cause::kClaim},
    Phrase{"allocate devices", Cause::kClaim},
    Phrase{"Insufficient nvidia.com/", Cause::kNotEnough},
    Phrase{"Insufficient", Cause::kOtherResource},
};
// The scheduler's checks, the last one first.
constexpr std::array kLastFirst = {Cause::kClaim, Cause::kOtherResource, Cause::kAffinity,
                                   Cause::kQuota, Cause::kTaint,         Cause::kNotEnough};

Cause meaning_of(std::string_view reason) {
  for (const auto& [text, cause] : kPhrases) {
    if (reason.find(text) != std::string_view::npos) return cause;
  }
  return Cause::kUnknown;
}

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption:
// ..." without its beginning and what is said of preemption.
std::string_view reasons_in(std::string_view message) {
  constexpr std::string_view kBegin = "nodes are available: ";
  if (const auto begin = message.find(kBegin); begin != std::string_view::npos) {
    message.remove_prefix(begin + kBegin.size());
  }
  return message.substr(0, message.find("preemption: "));
}

bool tolerates(const Toleration& toleration, const cluster::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.op == "Exists") return toleration.key.empty() || toleration.key == taint.key;
  return toleration.key == taint.key && toleration.value == taint.value;
}

bool is_kept_off(const PodFacts& pod, const NodeFacts& node) {
  return std::ranges::any_of(node.taints, [&](const auto& taint) {
    return std::ranges::none_of(pod.tolerations,
                                [&](const auto& one) { return tolerates(one, taint); });
  });
}

bool is_left_out(const PodFacts& pod, const NodeFacts& node) {
  return std::ranges::any_of(pod.node_selector, [&](const auto& entry) {
    const auto found = node.labels.find(entry.first);
    return found == node.labels.end() || found->second != entry.second;
  });
}

// What keeps the Pod from the nodes that have `count` left; nullopt: nothing that is looked at.
std::optional<Cause> kept_by_nodes(const PodFacts& pod, const std::vector<Room>& rooms,
                                   std::uint64_t count) {
  std::size_t looked = 0;
  std::size_t tainted = 0;
  for (const auto& room : rooms) {
    if (looked == kMostLooked || room.left < count) break;
    if (!room.open) continue;
    const bool off = is_kept_off(pod, *room.node);
    if (!off && !is_left_out(pod, *room.node)) return std::nullopt;
    if (off) ++tainted;
    ++looked;
  }
  return tainted * 2 > looked ? Cause::kTaint : Cause::kAffinity;
}

// nullopt: there is room, and nothing tells why the Pod does not get it.
std::optional<Cause> cause_at(const PodFacts& pod, const Rooms& rooms, const std::string& resource,
                              std::uint64_t count) {
  const auto found = rooms.find(resource);
  if (found == rooms.end() || found->second.empty()) return Cause::kNoSuchResource;
  const auto has_room = [&](const Room& room) { return room.left >= count; };
  const auto has_open = [&](const Room& room) { return room.open && has_room(room); };
  if (std::ranges::any_of(found->second, has_open)) return kept_by_nodes(pod, found->second, count);
  return std::ranges::any_of(found->second, has_room) ? Cause::kTaint : Cause::kNotEnough;
}

// The first claim that is not there; nullopt: all are.
std::optional<std::string> missing_claim(const Facts& facts, const PodFacts& pod) {
  for (const auto& claim : pod.claims) {
    if (claim.empty()) return "a claim of the Pod has not been made";
    if (!facts.claims.contains({pod.key.ns, claim})) return "claim " + claim + " is not there";
  }
  return std::nullopt;
}

Explained explain_unscheduled(const Facts& facts, const Rooms& rooms, const PodFacts& pod) {
  const auto& message = pod.unscheduled_message;
  if (pod.unscheduled_reason == "SchedulingGated") return {Cause::kGate, message};
  const auto named = cause_in(message);
  if (named == Cause::kClaim && !pod.claims.empty()) return {named, message};
  for (const auto& [resource, count] : pod.wants) {
    if (const auto cause = cause_at(pod, rooms, resource, count)) return {*cause, message};
  }
  if (named == Cause::kUnknown && missing_claim(facts, pod)) return {Cause::kClaim, message};
  return {named, message};
}

std::string gates_of(const PodFacts& pod) {
  std::string text = "scheduling gates: ";
  for (const auto& gate : pod.gates) text += (&gate == &pod.gates.front() ? "" : ", ") + gate;
  return text;
}

Explained explained(const Facts& facts, const Rooms& rooms, const PodFacts& pod) {
  if (!pod.gates.empty()) return {Cause::kGate, gates_of(pod)};
  if (!pod.node.empty()) return {Cause::kStarting, pod.starting};
  if (!pod.unscheduled_reason.empty()) return explain_unscheduled(facts, rooms, pod);
  // The scheduler says nothing of a Pod whose claim is not there.
  if (auto missing = missing_claim(facts, pod)) return {Cause::kClaim, *std::move(missing)};
  return {Cause::kUnknown, "the scheduler has said nothing yet"};
}

}  // namespace

Explained explain(const Facts& facts, const Rooms& rooms, const PodFacts& pod) {
  auto made = explained(facts, rooms, pod);
  made.message = shown(made.message);
  return made;
}

std::optional<Explained> explain_rejection(const PodFacts& pod) {
  if (pod.phase != "Failed" || pod.reason.empty()) return std::nullopt;
  const auto message = shown(pod.message);
  if (pod.reason == "TopologyAffinityError") return Explained{Cause::kTopology, message};
  const bool rejected =
      pod.reason == "UnexpectedAdmissionError" || pod.reason.starts_with("OutOf") ||
      pod.message.starts_with("Pod was rejected") || pod.message.starts_with("Predicate ");
  if (!rejected) return std::nullopt;
  return Explained{Cause::kAdmission, message};
}

Cause cause_in(std::string_view message) {
  auto rest = reasons_in(message);
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < kMostReasons && !rest.empty(); ++i) {
    const auto end = std::min(rest.find(", "), rest.size());
    causes.push_back(meaning_of(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  for (const auto cause : kLastFirst) {
    if (std::ranges::find(causes, cause) != causes.end()) return cause;
  }
  return Cause::kUnknown;
}

std::string shown(std::string_view message) {
  std::string text(utf8_prefix(message, kMostMessage));
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, ' ');
  return text;
}

}  // namespace tranche::fleet
