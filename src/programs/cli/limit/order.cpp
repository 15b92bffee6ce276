#include "cli/limit/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/json_value.h"
#include "cluster/client/list_of.h"
#include "cluster/pod.h"

namespace tranche::cli {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;

constexpr int kAttempts = 8;

// Each container counts once, however many of its settings wait for an answer.
Result<void> check_size(const LimitSettings& settings, const std::string& text,
                        const std::string& node) {
  std::set<std::tuple<std::string, std::string, std::string>> containers;
  for (const auto& one : settings) containers.emplace(one.uid, one.container, one.resource);
  if (containers.size() <= LimitSetting::kMost && settings.size() <= LimitSetting::kMostEntries &&
      text.size() <= LimitSetting::kLongest) {
    return {};
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("the annotation {} of Node {} is full: it can hold settings of {} "
                          "containers in {} KiB, and all are of Pods that run",
                          cluster::kLimitSettingsAnnotation, node, LimitSetting::kMost,
                          LimitSetting::kLongest >> 10U),
              "reset some of them (tranche limit list shows them, tranche limit reset POD), or "
              "change the configuration instead");
}

}  // namespace

Result<cluster::Node> find_node(cluster::Objects& objects, const std::string& name,
                                const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto object, objects.get(cluster::kNode, {.ns = "", .name = name}, call));
  return cluster::parse_node(object.json);
}

Result<LimitSettings> settings_of(const cluster::Node& node) {
  const auto& text = cluster::value_of(node.annotations, cluster::kLimitSettingsAnnotation);
  if (text.empty()) return LimitSettings();
  auto settings = cluster::decode_limit_settings(text);
  if (settings) return settings;
  auto error = std::move(settings).error().with_context(
      fmt::format("annotation {} of Node {}", cluster::kLimitSettingsAnnotation, node.name));
  error.code = Code::kFailedPrecondition;
  error.hint = fmt::format("remove it: kubectl annotate node {} {}-", node.name,
                           cluster::kLimitSettingsAnnotation);
  return std::unexpected(std::move(error));
}

std::vector<LimitOutcome> outcomes_of(const cluster::Node& node, LimitOutcome::By by) {
  const auto& text = cluster::value_of(node.annotations, cluster::kLimitStatusAnnotation);
  auto outcomes = cluster::decode_limit_outcomes(text).value_or(std::vector<LimitOutcome>());
  std::erase_if(outcomes, [&](const LimitOutcome& one) { return one.by != by; });
  return outcomes;
}

// The agent's answer to exactly this setting; nullopt: it has not answered yet.
std::optional<LimitOutcome> answer_to(const LimitSetting& setting, const cluster::Node& node) {
  for (auto& outcome : outcomes_of(node)) {
    if (outcome.setting == setting) return std::move(outcome);
  }
  return std::nullopt;
}

LimitOutcome answer_or_none(const LimitSetting& setting, const cluster::Node& node) {
  return answer_to(setting, node)
      .value_or(LimitOutcome{
          .setting = setting, .message = "the agent has not answered yet", .devices = {}});
}

Result<LimitSettings> take_gone(LimitSettings& settings, const std::string& node,
                                cluster::Objects& objects, const cluster::Call& call) {
  if (settings.empty()) return LimitSettings();
  ASSIGN_OR_RETURN(const auto pods, cluster::list_of(objects, cluster::kPod,
                                                     {.field_selector = "spec.nodeName=" + node},
                                                     cluster::parse_pod, call));
  std::set<std::string> uids;
  for (const auto& pod : pods) {
    if (!cluster::has_ended(pod)) uids.insert(pod.uid);
  }
  const auto gone = std::ranges::stable_partition(
      settings, [&](const LimitSetting& one) { return uids.contains(one.uid); });
  LimitSettings taken(gone.begin(), gone.end());
  settings.erase(gone.begin(), gone.end());
  return taken;
}

Result<LimitSettings> write_order(cluster::Objects& objects, const std::string& name,
                                  const cluster::Call& call, const LimitChange& change) {
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const auto node, find_node(objects, name, call));
    ASSIGN_OR_RETURN(auto settings, settings_of(node));
    ASSIGN_OR_RETURN(auto gone, take_gone(settings, name, objects, call));
    if (change) change(settings, node);
    auto text = settings.empty() ? std::string() : cluster::encode(settings);
    if (text == cluster::value_of(node.annotations, cluster::kLimitSettingsAnnotation)) return gone;
    TRY(check_size(settings, text, name));
    json::Value value;  // null removes the annotation
    if (!text.empty()) value = std::move(text);
    const json::Value patch = {
        {"metadata",
         {{"resourceVersion", node.resource_version},
          {"annotations", {{cluster::kLimitSettingsAnnotation, std::move(value)}}}}}};
    const auto done =
        objects.patch(cluster::kNode, {.ns = "", .name = name}, {.json = patch.text()}, call);
    if (done) return gone;
    if (done.error().code != Code::kFailedPrecondition || attempt == kAttempts) {
      return std::unexpected(done.error());
    }
  }
}

}  // namespace tranche::cli
