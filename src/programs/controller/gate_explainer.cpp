#include "controller/gate_explainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

#include "cluster/formats/reasons.h"

namespace tranche::controller {
namespace {

constexpr std::string_view kBefore = ", but the ";
constexpr std::string_view kAfter = " feature is disabled";
constexpr std::size_t kLongestGate = 63;

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

bool may_wait_for_a_gate(const std::string& pod) { return pod.find(kAfter) != std::string::npos; }

std::string note_of(const std::string& gate) {
  return fmt::format(
      "feature gate {0} of Kubernetes is off at the scheduler and on at the API server, so the "
      "Pod's claim is never allocated: turn it on at the scheduler too (kube-scheduler "
      "--feature-gates={0}=true), and at the controller manager and every kubelet",
      gate);
}

Result<Explainer::Notes> explain_gates(const std::vector<cluster::Object>& pods,
                                       const Explainer::ListNodes&) {
  Explainer::Notes notes;
  for (const auto& pod : pods) {
    const auto root = json::parse(pod.json);
    const auto gate = root ? gate_off_at_scheduler(*root) : "";
    notes.push_back(gate.empty() ? std::nullopt : std::optional(note_of(gate)));
  }
  return notes;
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

Explainer gate_explainer() {
  return {.purpose = "telling Pods that wait for GPUs when a feature gate of the scheduler is why",
          .topic = "Pods that wait for a feature gate",
          .reason = cluster::reason::kFeatureGatesOff,
          .may_concern = may_wait_for_a_gate,
          .explain = explain_gates};
}

}  // namespace tranche::controller
