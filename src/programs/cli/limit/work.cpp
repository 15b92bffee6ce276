#include "cli/limit/work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/pause.h"
#include "cli/limit/order.h"
#include "cluster/node.h"
#include "cluster/pod.h"

namespace tranche::cli {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;
using config::LimitOptions;
using Verb = LimitOptions::Verb;
using Settings = LimitSettings;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{200};

Result<cluster::Pod> find_pod(cluster::Objects& objects, const LimitOptions& options,
                              const cluster::Call& call) {
  auto object = objects.get(cluster::kPod, {.ns = options.ns, .name = options.pod}, call);
  if (!object) {
    auto error = std::move(object).error();
    if (error.code == Code::kNotFound && options.verb != Verb::kSet) {
      error.hint = "tranche limit list shows what is set, also of Pods that are gone";
    }
    return std::unexpected(std::move(error));
  }
  ASSIGN_OR_RETURN(auto pod, cluster::parse_pod(object->json));
  const bool ends = pod.deleting || cluster::has_ended(pod);
  if (pod.node.empty() || (ends && options.verb == Verb::kSet)) {
    return fail(Code::kFailedPrecondition, fmt::format("Pod {}/{} does not run", pod.ns, pod.name),
                "limits are set of containers that run");
  }
  return pod;
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

// The resources that a setting of the container can be for.
std::vector<std::string> resources_of(const cluster::PodContainer& container) {
  std::vector<std::string> resources;
  for (const auto& [resource, count] : container.requests) {
    if (count > 0) resources.push_back(resource);
  }
  for (const auto& [claim, request] : container.claims) {
    resources.push_back(cluster::claim_resource(claim, request));
  }
  return resources;
}

// The container and resource that `set` is for.
Result<LimitSetting> choose(const cluster::Pod& pod, const LimitOptions& options) {
  Settings found;
  std::vector<std::string> all;
  for (const auto& container : pod.containers) {
    if (container.init && !container.sidecar) continue;
    for (auto& resource : resources_of(container)) {
      LimitSetting setting{.ns = pod.ns,
                           .pod = pod.name,
                           .uid = pod.uid,
                           .container = container.name,
                           .resource = std::move(resource)};
      all.push_back(fmt::format("-c {} --resource {}", setting.container, setting.resource));
      if (is_chosen(setting, pod, options)) found.push_back(std::move(setting));
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

// The newest setting of `chosen`'s container and resource that the agent has not refused, else the
// newest one. An interrupted command may leave a refused setting. nullptr: there is none.
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

// Puts `setting` before all others of its container and resource. The others stay in force until
// the new one is in force.
void put_first(Settings& settings, const LimitSetting& setting) {
  std::erase(settings, setting);
  const auto place =
      std::ranges::find_if(settings, [&](const auto& one) { return one.is_about(setting); });
  settings.insert(place, setting);
}

// Removes the older settings of the same container and resource: `setting` has replaced them.
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
  TRY(write_order(objects, pod.node, call, [&](Settings& settings, const cluster::Node& node) {
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
      TRY(write_order(objects, pod.node, call, [&](Settings& settings, const cluster::Node&) {
        erase_behind(settings, wanted);
      }));
      return LimitReport{{*answer}, ""};
    }
    if (state == LimitOutcome::State::kRefused) {
      TRY(write_order(objects, pod.node, call, [&](Settings& settings, const cluster::Node&) {
        if (!was_set) std::erase(settings, wanted);
      }));
      return LimitReport{{*answer}, "refused: " + answer->message};
    }
    if (SteadyClock::now() >= end || !pause(kPoll, stop)) {
      return LimitReport{{answer.value_or(LimitOutcome{.setting = wanted})},
                         too_late(options, pod.node, answer)};
    }
  }
}

Result<LimitReport> reset(cluster::Objects& objects, const LimitOptions& options,
                          const cluster::Pod& pod, const std::stop_token& stop) {
  const cluster::Call call{.stop = stop};
  const auto chosen = [&](const LimitSetting& one) { return is_chosen(one, pod, options); };
  TRY(write_order(objects, pod.node, call, [&](Settings& settings, const cluster::Node&) {
    std::erase_if(settings, chosen);
  }));
  const auto end = SteadyClock::now() + options.timeout;
  while (true) {
    ASSIGN_OR_RETURN(const auto node, find_node(objects, pod.node, call));
    const auto outcomes = outcomes_of(node);
    if (std::ranges::none_of(outcomes, chosen, &LimitOutcome::setting)) return LimitReport{};
    if (SteadyClock::now() >= end || !pause(kPoll, stop)) {
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
    if (is_chosen(setting, pod, options)) report.outcomes.push_back(answer_or_none(setting, node));
  }
  for (auto& outcome : outcomes_of(node, LimitOutcome::By::kAnnotations)) {
    if (is_chosen(outcome.setting, pod, options)) report.outcomes.push_back(std::move(outcome));
  }
  for (const auto& [setting, state, message, devices, by] : report.outcomes) {
    if (state == LimitOutcome::State::kHolds) continue;
    report.finding = fmt::format("container {}, {}: {}: {}", setting.container, setting.resource,
                                 to_string(state), message);
  }
  report.promises = read_promises(objects, pod, {.stop = stop});
  std::erase_if(report.promises.all, [&](const Promise& one) {
    return !is_chosen({.uid = pod.uid, .container = one.container, .resource = one.resource}, pod,
                      options);
  });
  return report;
}

}  // namespace

Result<LimitReport> run_limit(cluster::Objects& objects, const LimitOptions& options,
                              const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto pod, find_pod(objects, options, {.stop = stop}));
  const auto work = options.verb == Verb::kSet ? set : options.verb == Verb::kReset ? reset : get;
  ASSIGN_OR_RETURN(auto report, work(objects, options, pod, stop));
  report.node = pod.node;
  return report;
}

}  // namespace tranche::cli
