#include "controller/gate_notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/json_value.h"
#include "cluster/reasons.h"
#include "cluster/time.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestGateCall{20};
// The one name in the queue.
constexpr const char* kGateTurn = "Pods that wait for a feature gate";
constexpr const char* kUnscheduled = "spec.nodeName=,status.phase=Pending";
constexpr std::string_view kBefore = ", but the ";
constexpr std::string_view kAfter = " feature is disabled";
constexpr std::size_t kLongestGate = 63;

// The name of the gate in a message of the scheduler's.
std::string gate_in(std::string_view message) {
  const auto after = message.find(kAfter);
  const auto before = message.rfind(kBefore, after);
  if (after == std::string_view::npos || before == std::string_view::npos) return "";
  const auto gate = message.substr(before + kBefore.size(), after - before - kBefore.size());
  const bool is_gate = gate.starts_with("DRA") && gate.size() <= kLongestGate &&
                       std::ranges::all_of(gate, [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) != 0;
                       });
  return is_gate ? std::string(gate) : "";
}

std::string text_at(json::View object, std::initializer_list<std::string_view> path) {
  const auto found = object.at(path);
  return found ? found->as_string().value_or("") : "";
}

// Of a Pod that waits for a gate: the gate, and when the Pod was made. Of all others nothing.
std::string reduced_pod(const std::string& text) {
  if (text.find(kAfter) == std::string::npos) return "";
  const auto pod = json::parse(text);
  const auto gate = pod ? gate_off_at_scheduler(*pod) : "";
  if (gate.empty()) return "";
  return json::Value{{"gate", gate}, {"made", text_at(*pod, {"metadata", "creationTimestamp"})}}
      .text();
}

std::string note_of(const std::string& gate) {
  return fmt::format(
      "feature gate {0} of Kubernetes is off at the scheduler and on at the API server, so the "
      "Pod's claim is never allocated: turn it on at the scheduler too (kube-scheduler "
      "--feature-gates={0}=true), and at the controller manager and every kubelet",
      gate);
}

}  // namespace

std::string gate_off_at_scheduler(json::View pod) {
  const auto conditions = pod.at({"status", "conditions"});
  for (const auto& condition : conditions.value_or(json::View()).elements()) {
    if (text_at(condition, {"type"}) != "PodScheduled") continue;
    if (text_at(condition, {"status"}) != "False") continue;
    return gate_in(text_at(condition, {"message"}));
  }
  return "";
}

GateNotice::GateNotice(cluster::Objects& objects, Options options, const Clock& clock,
                       const Log& log)
    : options_(std::move(options)),
      events_(objects, "tranche.dev/controller", options_.instance, clock, log),
      pods_(
          objects,
          {.kind = cluster::kPod,
           .selection = {.field_selector = kUnscheduled},
           .reduce = reduced_pod,
           .in_pages = true,
           .backoff = options_.watch_backoff},
          [](const cluster::CacheChange&) {}, log),
      queue_(log, options_.backoff,
             [this](const std::string&, const std::stop_token& stop) { return visit(stop); }) {
  queue_.ask(kGateTurn);
}

std::optional<std::string> GateNotice::trouble() const {
  if (const auto failure = pods_.failure()) return failure->message();
  if (!pods_.synced()) return "the API server has not answered yet";
  return std::nullopt;
}

Result<WorkQueue::Next> GateNotice::visit(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call, call_while_leading(kLongestGateCall, options_.time_left, stop));
  cluster::StandingEvents::Events events;
  for (const auto& pod : pods_.all()) {
    const auto root = json::parse(pod.json);
    const auto gate = root ? text_at(*root, {"gate"}) : "";
    if (gate.empty()) continue;
    const auto made = cluster::parse_time(text_at(*root, {"made"}));
    cluster::Event event{.regarding = {.api_version = "v1",
                                       .kind = "Pod",
                                       .ns = pod.key.ns,
                                       .name = pod.key.name,
                                       .uid = pod.uid},
                         .warning = true,
                         .reason = cluster::reason::kFeatureGatesOff,
                         .action = "Schedule",
                         .note = note_of(gate),
                         .time = made.value_or(cluster::WallTime())};
    events.emplace(pod.uid + ' ' + gate,
                   cluster::StandingEvent{.event = std::move(event), .instances = {pod.uid}});
  }
  events_.tell(events, call);
  return options_.look;
}

WorkerPlan plan_gate_notice(GateNotice::Options options) {
  return {.name = "gate-notice",
          .needs_leadership = true,
          .purpose = "telling Pods that wait for GPUs when a feature gate of the scheduler is why",
          .start = starter<GateNotice>(std::move(options))};
}

}  // namespace tranche::controller
