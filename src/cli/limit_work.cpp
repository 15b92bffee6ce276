#include "cli/limit_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "agent/limit_setting_rules.h"
#include "cluster/node.h"
#include "cluster/pause.h"
#include "cluster/pod.h"

namespace tranche::cli {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;
using config::LimitOptions;
using nlohmann::json;
using Verb = LimitOptions::Verb;
using Settings = std::vector<LimitSetting>;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{200};
constexpr int kAttempts = 8;

std::string annotation(const cluster::Node& node, const char* name) {
  const auto found = node.annotations.find(name);
  return found == node.annotations.end() ? std::string() : found->second;
}

Result<cluster::Pod> find_pod(cluster::Objects& objects, const LimitOptions& options,
                              const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto object,
                   objects.get(cluster::kPod, {.ns = options.ns, .name = options.pod}, call));
  ASSIGN_OR_RETURN(auto pod, cluster::parse_pod(object.json));
  if (pod.node.empty() || pod.deleting || pod.phase == "Succeeded" || pod.phase == "Failed") {
    return fail(Code::kFailedPrecondition, fmt::format("Pod {}/{} does not run", pod.ns, pod.name),
                "limits are set of containers that run");
  }
  return pod;
}

Result<cluster::Node> find_node(cluster::Objects& objects, const std::string& name,
                                const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto object, objects.get(cluster::kNode, {.ns = "", .name = name}, call));
  return cluster::parse_node(object.json);
}

Result<Settings> settings_of(const cluster::Node& node) {
  const auto text = annotation(node, cluster::kLimitSettingsAnnotation);
  if (text.empty()) return Settings();
  auto settings = cluster::decode_limit_settings(text);
  if (settings) return settings;
  auto error = std::move(settings).error().with_context(
      fmt::format("annotation {} of Node {}", cluster::kLimitSettingsAnnotation, node.name));
  error.code = Code::kFailedPrecondition;
  error.hint = fmt::format("remove it: kubectl annotate node {} {}-", node.name,
                           cluster::kLimitSettingsAnnotation);
  return std::unexpected(std::move(error));
}

std::vector<LimitOutcome> outcomes_of(const cluster::Node& node) {
  const auto text = annotation(node, cluster::kLimitStatusAnnotation);
  return cluster::decode_limit_outcomes(text).value_or(std::vector<LimitOutcome>());
}

// What the agent says of exactly this setting; nullopt: nothing yet.
std::optional<LimitOutcome> answer_to(const LimitSetting& setting, const cluster::Node& node) {
  for (auto& outcome : outcomes_of(node)) {
    if (outcome.setting == setting) return std::move(outcome);
  }
  return std::nullopt;
}

bool is_refused(const LimitSetting& setting, const cluster::Node& node) {
  const auto answer = answer_to(setting, node);
  return answer && answer->state == LimitOutcome::State::kRefused;
}

bool is_chosen(const LimitSetting& setting, const cluster::Pod& pod, const LimitOptions& options) {
  return setting.uid == pod.uid &&
         (options.container.empty() || options.container == setting.container) &&
         (options.resource.empty() || options.resource == setting.resource);
}

// The container and resource that `set` is about.
Result<LimitSetting> choose(const cluster::Pod& pod, const LimitOptions& options) {
  Settings found;
  std::vector<std::string> all;
  for (const auto& container : pod.containers) {
    if (container.init && !container.sidecar) continue;
    for (const auto& [resource, count] : container.requests) {
      LimitSetting setting{.ns = pod.ns,
                           .pod = pod.name,
                           .uid = pod.uid,
                           .container = container.name,
                           .resource = resource};
      all.push_back(fmt::format("-c {} --resource {}", container.name, resource));
      if (count > 0 && is_chosen(setting, pod, options)) found.push_back(std::move(setting));
    }
  }
  if (found.size() == 1) return found.front();
  const auto has = all.empty() ? std::string("it asks for none")
                               : fmt::format("it has: {}", fmt::join(all, "; "));
  return fail(Code::kInvalidArgument,
              fmt::format("Pod {}/{} has {} that fits", pod.ns, pod.name,
                          found.empty() ? "no container with a resource" : "more than one"),
              has);
}

// `change` of what is set on the node now, written unless somebody else wrote meanwhile: then
// again. Settings of Pods that are gone leave on the way.
template <class Change>
Result<void> write(cluster::Objects& objects, const std::string& name, const cluster::Call& call,
                   const Change& change) {
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(const auto node, find_node(objects, name, call));
    ASSIGN_OR_RETURN(auto settings, settings_of(node));
    ASSIGN_OR_RETURN(
        const auto pods,
        objects.list(cluster::kPod, {.field_selector = "spec.nodeName=" + name}, call));
    std::set<std::string> uids;
    for (const auto& pod : pods.items) uids.insert(pod.uid);
    std::erase_if(settings, [&](const auto& one) { return !uids.contains(one.uid); });
    change(settings, node);
    if (settings.size() > LimitSetting::kMost) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("Node {} has {} settings already", name, LimitSetting::kMost),
                  "reset some of them: tranche limit reset POD");
    }
    auto text = settings.empty() ? std::string() : cluster::encode(settings);
    if (text == annotation(node, cluster::kLimitSettingsAnnotation)) return {};
    json value;  // null: taken away
    if (!text.empty()) value = std::move(text);
    const json patch = {
        {"metadata",
         {{"resourceVersion", node.resource_version},
          {"annotations", {{cluster::kLimitSettingsAnnotation, std::move(value)}}}}}};
    const auto done =
        objects.patch(cluster::kNode, {.ns = "", .name = name}, {.json = patch.dump()}, call);
    if (done) return {};
    if (done.error().code != Code::kFailedPrecondition || attempt == kAttempts) {
      return std::unexpected(done.error());
    }
  }
}

// What is set of `chosen` now, or was last: one that a command left refused is passed over.
// nullptr: nothing.
const LimitSetting* set_now(const Settings& settings, const LimitSetting& chosen,
                            const cluster::Node& node) {
  const LimitSetting* first = nullptr;
  for (const auto& one : settings) {
    if (!one.is_about(chosen)) continue;
    if (!is_refused(one, node)) return &one;
    if (first == nullptr) first = &one;
  }
  return first;
}

// `setting` before all others of its container and resource: these hold as long as it does not.
void put_first(Settings& settings, const LimitSetting& setting) {
  std::erase(settings, setting);
  const auto place =
      std::ranges::find_if(settings, [&](const auto& one) { return one.is_about(setting); });
  settings.insert(place, setting);
}

// Those that `setting` has come before are not needed any more.
void erase_behind(Settings& settings, const LimitSetting& setting) {
  const auto place = std::ranges::find(settings, setting);
  if (place == settings.end()) return;
  settings.erase(std::remove_if(place + 1, settings.end(),
                                [&](const auto& one) { return one.is_about(setting); }),
                 settings.end());
}

std::string too_late(const LimitOptions& options, const std::string& node,
                     const std::optional<LimitOutcome>& last) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options.timeout).count();
  const auto why =
      last ? last->message
           : fmt::format(
                 "the agent of node {} does not answer (it follows limits where the chart "
                 "has limits.enabled)",
                 node);
  return fmt::format("not in force after {} s: {}", seconds, why);
}

Result<LimitReport> set(cluster::Objects& objects, const LimitOptions& options,
                        const cluster::Pod& pod, const std::stop_token& stop) {
  const cluster::Call call{.stop = stop};
  ASSIGN_OR_RETURN(auto wanted, choose(pod, options));
  const auto chosen = wanted;
  bool was_set = false;
  TRY(write(objects, pod.node, call, [&](Settings& settings, const cluster::Node& node) {
    const auto* const now = set_now(settings, chosen, node);
    wanted = now == nullptr ? chosen : *now;
    if (!options.memory.empty()) wanted.memory = options.memory;
    if (!options.compute.empty()) wanted.compute = options.compute;
    if (!options.priority.empty()) wanted.priority = options.priority;
    was_set = std::ranges::find(settings, wanted) != settings.end();
    put_first(settings, wanted);
  }));
  const auto end = SteadyClock::now() + options.timeout;
  while (true) {
    ASSIGN_OR_RETURN(const auto node, find_node(objects, pod.node, call));
    const auto answer = answer_to(wanted, node);
    const auto state = answer ? answer->state : LimitOutcome::State::kWaiting;
    if (state == LimitOutcome::State::kHolds) {
      TRY(write(objects, pod.node, call,
                [&](Settings& settings, const cluster::Node&) { erase_behind(settings, wanted); }));
      return LimitReport{{*answer}, ""};
    }
    if (state == LimitOutcome::State::kRefused) {
      TRY(write(objects, pod.node, call, [&](Settings& settings, const cluster::Node&) {
        if (!was_set) std::erase(settings, wanted);
      }));
      return LimitReport{{*answer}, "refused: " + answer->message};
    }
    if (SteadyClock::now() >= end || !cluster::pause(kPoll, stop)) {
      return LimitReport{{answer.value_or(LimitOutcome{.setting = wanted})},
                         too_late(options, pod.node, answer)};
    }
  }
}

Result<LimitReport> reset(cluster::Objects& objects, const LimitOptions& options,
                          const cluster::Pod& pod, const std::stop_token& stop) {
  const cluster::Call call{.stop = stop};
  const auto chosen = [&](const LimitSetting& one) { return is_chosen(one, pod, options); };
  TRY(write(objects, pod.node, call,
            [&](Settings& settings, const cluster::Node&) { std::erase_if(settings, chosen); }));
  const auto end = SteadyClock::now() + options.timeout;
  while (true) {
    ASSIGN_OR_RETURN(const auto node, find_node(objects, pod.node, call));
    const auto outcomes = outcomes_of(node);
    if (std::ranges::none_of(outcomes, chosen, &LimitOutcome::setting)) return LimitReport{};
    if (SteadyClock::now() >= end || !cluster::pause(kPoll, stop)) {
      return LimitReport{{}, too_late(options, pod.node, std::nullopt)};
    }
  }
}

Result<LimitReport> get(cluster::Objects& objects, const LimitOptions& options,
                        const cluster::Pod& pod, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto node, find_node(objects, pod.node, {.stop = stop}));
  ASSIGN_OR_RETURN(const auto settings, settings_of(node));
  LimitReport report;
  for (const auto& setting : settings) {
    if (!is_chosen(setting, pod, options)) continue;
    report.outcomes.push_back(
        answer_to(setting, node)
            .value_or(LimitOutcome{
                .setting = setting, .message = "the agent has not answered yet", .devices = {}}));
    const auto& last = report.outcomes.back();
    if (last.state == LimitOutcome::State::kHolds) continue;
    report.finding = fmt::format("container {}, {}: {}: {}", setting.container, setting.resource,
                                 to_string(last.state), last.message);
  }
  return report;
}

std::string amounts(const LimitOutcome& outcome) {
  std::vector<std::string> parts;
  for (const auto& device : outcome.devices) {
    parts.push_back(fmt::format(
        "{}: memory {}, compute {}", device.uuid,
        device.memory_bytes ? fmt::format("{} MiB", *device.memory_bytes >> 20U) : "no limit",
        device.permille ? fmt::format("{:g}%", *device.permille / 10.0) : "no cap"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string table(const LimitReport& report, const LimitOptions& options) {
  if (report.outcomes.empty()) {
    return fmt::format(
        "Pod {}/{}: nothing is set; its containers have what the configuration promises\n",
        options.ns, options.pod);
  }
  constexpr auto kLine = "{:<16} {:<24} {:<10} {:<8} {:<17} {:<8} {}\n";
  auto text =
      fmt::format(kLine, "CONTAINER", "RESOURCE", "MEMORY", "COMPUTE", "CLASS", "STATE", "NOW");
  for (const auto& outcome : report.outcomes) {
    const auto& setting = outcome.setting;
    text +=
        fmt::format(kLine, setting.container, setting.resource, or_dash(setting.memory),
                    or_dash(setting.compute), or_dash(setting.priority), to_string(outcome.state),
                    outcome.devices.empty() ? outcome.message : amounts(outcome));
  }
  return text;
}

// JSON's texts, numbers and words are YAML's too.
void yaml(const nlohmann::ordered_json& value, int depth, std::string& text) {
  const std::string indent(static_cast<std::size_t>(depth) * 2, ' ');
  if (value.empty() || value.is_primitive()) {
    text += ' ' + value.dump() + '\n';
  } else if (value.is_array()) {
    text += '\n';
    for (const auto& entry : value) {
      text += indent + "-";
      yaml(entry, depth + 1, text);
    }
  } else {
    text += '\n';
    for (const auto& [key, below] : value.items()) {
      text += indent + key + ":";
      yaml(below, depth + 1, text);
    }
  }
}

}  // namespace

Result<LimitReport> run_limit(cluster::Objects& objects, const LimitOptions& options,
                              const std::stop_token& stop) {
  TRY(agent::check_values(
      {.memory = options.memory, .compute = options.compute, .priority = options.priority}));
  ASSIGN_OR_RETURN(const auto pod, find_pod(objects, options, {.stop = stop}));
  switch (options.verb) {
    case Verb::kSet:
      return set(objects, options, pod, stop);
    case Verb::kReset:
      return reset(objects, options, pod, stop);
    case Verb::kGet:
      break;
  }
  return get(objects, options, pod, stop);
}

std::string show(const LimitReport& report, const LimitOptions& options) {
  if (options.output == LimitOptions::Output::kTable) return table(report, options);
  const auto settings =
      nlohmann::ordered_json::parse(cluster::encode(report.outcomes)).at("settings");
  if (options.output == LimitOptions::Output::kJson) return settings.dump(2) + "\n";
  if (settings.empty()) return "[]\n";
  std::string text;
  yaml(settings, 0, text);
  return text.substr(1);  // the list's own line break
}

}  // namespace tranche::cli
