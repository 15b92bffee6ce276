#include "agent/limits/limit_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "cluster/reasons.h"

namespace tranche::agent {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;

// The tenant of the setting's container; "": it has none.
std::string tenant_of(const LimitSetting& setting, const std::vector<cluster::HeldDevices>& held,
                      const std::vector<TenantManager::Tenant>& tenants) {
  const auto holder = std::ranges::find_if(held, [&](const cluster::HeldDevices& one) {
    return one.pod_namespace == setting.ns && one.pod_name == setting.pod &&
           one.container == setting.container && one.resource == setting.resource;
  });
  if (holder == held.end()) return {};
  // The latest grant counts: the tranche's earlier holder is kept a while (GrantStore::kSettle).
  for (const auto& tenant : std::ranges::reverse_view(tenants)) {
    if (tenant.resource == setting.resource &&
        std::ranges::find_first_of(tenant.ids, holder->ids) != tenant.ids.end()) {
      return tenant.id;
    }
  }
  return {};
}

// A setting for one container, its origin, and the container's tenant.
struct Wanted {
  LimitSetting setting;
  Raising raising = Raising::kAllowed;
  std::string tenant;      // "": none
  std::size_t before = 0;  // how many settings of the same tenant come before it
};

std::vector<cluster::Pod>::const_iterator pod_of(const cluster::HeldDevices& held,
                                                 const std::vector<cluster::Pod>& pods) {
  return std::ranges::find_if(pods, [&](const cluster::Pod& one) {
    return one.ns == held.pod_namespace && one.name == held.pod_name;
  });
}

// The setting in the Pod's annotations, for each of its containers; empty: there is none.
LimitSetting annotated_setting(const cluster::Pod& pod) {
  const auto value = [&](const char* name) { return cluster::value_of(pod.annotations, name); };
  return {.ns = pod.ns,
          .pod = pod.name,
          .uid = pod.uid,
          .container = {},
          .resource = {},
          .memory = value(kMemoryAnnotation),
          .compute = value(kComputeAnnotation),
          .priority = value(kClassAnnotation)};
}

// Added after the operator's setting for the container, which therefore comes first.
void add_annotated(const cluster::HeldDevices& held, const std::vector<cluster::Pod>& pods,
                   std::vector<Wanted>& wanted) {
  const auto pod = pod_of(held, pods);
  if (pod == pods.end()) return;
  auto setting = annotated_setting(*pod);
  if (setting.is_empty()) return;
  setting.container = held.container;
  setting.resource = held.resource;
  wanted.push_back({std::move(setting), Raising::kRefused, {}});
}

// The PriorityClass of each tenant's Pod.
std::map<std::string, std::string> classes_of(const std::vector<cluster::HeldDevices>& held,
                                              const std::vector<cluster::Pod>& pods,
                                              const std::vector<TenantManager::Tenant>& tenants) {
  std::map<std::string, std::string> classes;
  for (const auto& one : held) {
    const auto pod = pod_of(one, pods);
    if (pod == pods.end() || pod->priority_class.empty()) continue;
    const auto tenant = tenant_of({.ns = pod->ns,
                                   .pod = pod->name,
                                   .uid = pod->uid,
                                   .container = one.container,
                                   .resource = one.resource,
                                   .memory = {},
                                   .compute = {},
                                   .priority = {}},
                                  held, tenants);
    if (!tenant.empty()) classes.emplace(tenant, pod->priority_class);
  }
  return classes;
}

std::vector<LimitOutcome::Device> devices_of(const limit::TenantLimits& limits) {
  std::vector<LimitOutcome::Device> devices;
  for (const auto& part : limits.devices) {
    devices.push_back(
        {.uuid = part.uuid,
         .memory_bytes = part.memory ? std::optional(part.memory->value) : std::nullopt,
         .permille = part.permille});
  }
  return devices;
}

LimitOutcome outcome_of(const Wanted& wanted, const TenantManager::Answers& answers) {
  LimitOutcome outcome{.setting = wanted.setting, .devices = {}};
  const auto tried = answers.find(wanted.tenant);
  if (wanted.tenant.empty() || tried == answers.end()) {
    outcome.message = "no running container holds the resource with limits";
  } else if (wanted.before >= tried->second.size()) {
    outcome.message = "a newer setting of the container holds";
  } else if (const auto& answer = tried->second[wanted.before]; answer) {
    outcome.state = LimitOutcome::State::kHolds;
    outcome.devices = devices_of(*answer);
  } else {
    outcome.state = LimitOutcome::State::kRefused;
    outcome.message = answer.error().message();
  }
  return outcome;
}

}  // namespace

LimitOverrides::LimitOverrides(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                               const Clock& clock, const Log& log)
    : node_(node),
      pods_(pods),
      clock_(clock),
      log_(log),
      writer_(objects, node.name(), "what became of the limits that were set cannot be told", clock,
              log),
      events_(objects, "tranche.dev/agent", node.name(), clock, log) {}

void LimitOverrides::look(HolderAnswers& holders, TenantManager& manager,
                          const cluster::Call& call) {
  const auto node = node_.node();
  if (!node) return;  // settings stay as they are until the Node is known
  const auto order = cluster::value_of(node->annotations, cluster::kLimitSettingsAnnotation);
  const auto now = clock_.now();
  if (obeyed_ != order) settings_ = read(order);
  const bool again = now - obeyed_at_ >= kAskAgain;
  if (obeyed_ != order || again) {
    auto outcomes = obey(settings_, holders, manager);
    if (!outcomes) return;  // Pods or kubelet could not be asked; retried soon
    outcomes_ = *std::move(outcomes);
    obeyed_ = order;
    obeyed_at_ = now;
  }
  events_.tell(refusals(), call);
  answer(outcomes_, *node, call);
}

// Parses the order. One that cannot be parsed changes nothing.
LimitOverrides::Settings LimitOverrides::read(const std::string& text) {
  if (text.empty()) return {};
  auto settings = cluster::decode_limit_settings(text);
  if (settings) {
    complaint_.clear();
    return *std::move(settings);
  }
  auto message = settings.error().message();
  if (std::exchange(complaint_, message) != message) {
    log_.error(
        fmt::format("annotation {} of Node {}: {}; what was set before stays. Give it anew "
                    "with tranche limit set, or remove the annotation",
                    cluster::kLimitSettingsAnnotation, node_.name(), message));
  }
  return settings_;
}

std::optional<LimitOverrides::Outcomes> LimitOverrides::obey(const Settings& settings,
                                                             HolderAnswers& holders,
                                                             TenantManager& manager) {
  const auto pods = pods_.all();
  if (!pods) return std::nullopt;
  const bool annotated = std::ranges::any_of(
      *pods, [](const cluster::Pod& pod) { return !annotated_setting(pod).is_empty(); });
  std::vector<cluster::HeldDevices> held;
  if (annotated || !settings.empty() || manager.maps_classes()) {
    // A setting may be for a container that has just started.
    const auto answer = holders.get(HolderAnswers::kNow);
    if (!answer) return std::nullopt;
    held = (*answer)->listed;
  }
  const auto tenants = manager.known_tenants();
  std::vector<Wanted> wanted;
  for (const auto& setting : settings) wanted.push_back({setting, Raising::kAllowed, {}});
  for (const auto& one : held) add_annotated(one, *pods, wanted);
  TenantManager::Settings by_tenant;
  for (auto& one : wanted) {
    const bool is_meant = std::ranges::any_of(*pods, [&](const cluster::Pod& pod) {
      return pod.uid == one.setting.uid && pod.ns == one.setting.ns && pod.name == one.setting.pod;
    });
    if (is_meant) one.tenant = tenant_of(one.setting, held, tenants);
    if (one.tenant.empty()) continue;
    auto& settings_of_tenant = by_tenant[one.tenant];
    one.before = settings_of_tenant.size();
    settings_of_tenant.push_back({one.setting, one.raising});
  }
  const auto answers = manager.settle(std::move(by_tenant), classes_of(held, *pods, tenants));
  Outcomes outcomes;
  refused_annotations_.clear();
  for (const auto& one : wanted) {
    auto outcome = outcome_of(one, answers);
    if (one.raising == Raising::kAllowed) {
      outcomes.push_back(std::move(outcome));
    } else if (outcome.state == LimitOutcome::State::kRefused) {
      refused_annotations_.push_back(std::move(outcome));
    }
  }
  return outcomes;
}

cluster::StandingEvents::Events LimitOverrides::refusals() {
  cluster::StandingEvents::Events standing;
  const auto add = [&](const LimitOutcome& outcome, const char* reason) {
    if (outcome.state != LimitOutcome::State::kRefused) return;
    const auto& setting = outcome.setting;
    const auto key = fmt::format("{} {} {} {} {}", reason, setting.uid, setting.container,
                                 setting.resource, outcome.message);
    const auto since = refused_since_.try_emplace(key, clock_.wall_now()).first->second;
    standing.emplace(
        key,
        cluster::StandingEvent{
            .event = {.regarding = {.api_version = "v1",
                                    .kind = "Pod",
                                    .ns = setting.ns,
                                    .name = setting.pod,
                                    .uid = setting.uid},
                      .warning = true,
                      .reason = reason,
                      .action = "Limit",
                      .note = fmt::format("container {}, {}: {}; it is not in force",
                                          setting.container, setting.resource, outcome.message),
                      .reporter = {},
                      .instance = {},
                      .time = since},
            .instances = {setting.uid}});
  };
  for (const auto& outcome : outcomes_) add(outcome, cluster::reason::kLimitSettingRefused);
  for (const auto& outcome : refused_annotations_)
    add(outcome, cluster::reason::kLimitAnnotationRefused);
  std::erase_if(refused_since_, [&](const auto& one) { return !standing.contains(one.first); });
  return standing;
}

void LimitOverrides::answer(const Outcomes& outcomes, const cluster::Node& node,
                            const cluster::Call& call) {
  const auto text = outcomes.empty() ? std::string() : cluster::encode(outcomes);
  if (cluster::value_of(node.annotations, cluster::kLimitStatusAnnotation) == text) return;
  const auto value = text.empty() ? std::nullopt : std::optional(text);
  writer_.write({.labels = {}, .annotations = {{cluster::kLimitStatusAnnotation, value}}}, call);
}

}  // namespace tranche::agent
