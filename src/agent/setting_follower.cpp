#include "agent/setting_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace tranche::agent {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;
using nlohmann::json;

constexpr std::chrono::seconds kPause{30};  // after a write that failed

std::string annotation(const cluster::Node& node, const char* name) {
  const auto found = node.annotations.find(name);
  return found == node.annotations.end() ? std::string() : found->second;
}

// The tenant that the setting's container is; "": none.
std::string tenant_of(const LimitSetting& setting, const std::vector<cluster::HeldDevices>& held,
                      const std::vector<LimitKeeper::Tenant>& tenants) {
  const auto holder = std::ranges::find_if(held, [&](const cluster::HeldDevices& one) {
    return one.pod_namespace == setting.ns && one.pod_name == setting.pod &&
           one.container == setting.container && one.resource == setting.resource;
  });
  if (holder == held.end()) return {};
  const auto tenant = std::ranges::find_if(tenants, [&](const LimitKeeper::Tenant& one) {
    return one.resource == setting.resource &&
           std::ranges::find_first_of(one.ids, holder->ids) != one.ids.end();
  });
  return tenant == tenants.end() ? std::string() : tenant->id;
}

std::vector<LimitOutcome::Device> devices_of(const limit::TenantLimits& limits) {
  std::vector<LimitOutcome::Device> devices;
  for (const auto& part : limits.devices) {
    devices.push_back(
        {.uuid = part.uuid, .memory_bytes = part.memory_bytes, .permille = part.permille});
  }
  return devices;
}

}  // namespace

SettingFollower::SettingFollower(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                                 const Clock& clock, const Log& log)
    : objects_(objects),
      node_(node),
      pods_(pods),
      clock_(clock),
      log_(log),
      events_(objects, "tranche.dev/agent", node.name(), clock, log) {}

void SettingFollower::look(cluster::PodResources& pod_resources, LimitKeeper& keeper,
                           const cluster::Call& call) {
  const auto node = node_.node();
  if (!node) return;  // what was set stays, until it is known what is
  const auto order = annotation(*node, cluster::kLimitSettingsAnnotation);
  const auto now = clock_.now();
  if (obeyed_ != order) settings_ = read(order);
  const bool again = !settings_.empty() && now - obeyed_at_ >= kAskAgain;
  if (obeyed_ != order || again) {
    auto outcomes = obey(settings_, pod_resources, keeper);
    if (!outcomes) return;  // Pods or kubelet could not be asked: soon
    outcomes_ = *std::move(outcomes);
    obeyed_ = order;
    obeyed_at_ = now;
  }
  events_.tell(refusals(outcomes_), call);
  answer(outcomes_, *node, call);
}

// An order that cannot be read changes nothing.
SettingFollower::Settings SettingFollower::read(const std::string& text) {
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

std::optional<SettingFollower::Outcomes> SettingFollower::obey(const Settings& settings,
                                                               cluster::PodResources& pod_resources,
                                                               LimitKeeper& keeper) {
  Outcomes outcomes;
  LimitKeeper::Settings by_tenant;
  std::vector<std::string> tenants(settings.size());
  if (!settings.empty()) {
    const auto pods = pods_.all();
    const auto held = pod_resources.list();
    if (!pods || !held) return std::nullopt;
    const auto known = keeper.known_tenants();
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto& setting = settings[i];
      const bool is_meant = std::ranges::any_of(*pods, [&](const cluster::Pod& pod) {
        return pod.uid == setting.uid && pod.ns == setting.ns && pod.name == setting.pod;
      });
      if (is_meant) tenants[i] = tenant_of(setting, *held, known);
      if (!tenants[i].empty()) by_tenant.insert_or_assign(tenants[i], setting);
    }
  }
  const auto answers = keeper.settle(std::move(by_tenant));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    LimitOutcome outcome{.setting = settings[i], .devices = {}};
    const auto answer = answers.find(tenants[i]);
    if (tenants[i].empty() || answer == answers.end()) {
      outcome.message = "no running container holds the resource with limits";
    } else if (answer->second) {
      outcome.state = LimitOutcome::State::kHolds;
      outcome.devices = devices_of(*answer->second);
    } else {
      outcome.state = LimitOutcome::State::kRefused;
      outcome.message = answer->second.error().message();
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

cluster::StandingEvents::Matters SettingFollower::refusals(const Outcomes& outcomes) {
  cluster::StandingEvents::Matters matters;
  for (const auto& outcome : outcomes) {
    if (outcome.state != LimitOutcome::State::kRefused) continue;
    const auto& setting = outcome.setting;
    const auto key = fmt::format("{} {} {} {}", setting.uid, setting.container, setting.resource,
                                 outcome.message);
    const auto since = refused_since_.try_emplace(key, clock_.wall_now()).first->second;
    matters.emplace(
        key,
        cluster::StandingEvents::Matter{
            .event = {.regarding = {.api_version = "v1",
                                    .kind = "Pod",
                                    .ns = setting.ns,
                                    .name = setting.pod,
                                    .uid = setting.uid},
                      .warning = true,
                      .reason = "LimitSettingRefused",
                      .action = "Limit",
                      .note = fmt::format("container {}, {}: {}; what was promised stands",
                                          setting.container, setting.resource, outcome.message),
                      .reporter = {},
                      .instance = {},
                      .time = since},
            .instances = {setting.uid}});
  }
  std::erase_if(refused_since_, [&](const auto& one) { return !matters.contains(one.first); });
  return matters;
}

void SettingFollower::answer(const Outcomes& outcomes, const cluster::Node& node,
                             const cluster::Call& call) {
  const auto text = outcomes.empty() ? std::string() : cluster::encode(outcomes);
  const auto now = clock_.now();
  if (annotation(node, cluster::kLimitStatusAnnotation) == text || now < write_not_before_) return;
  json value;  // null: taken away
  if (!text.empty()) value = text;
  const json patch = {
      {"metadata", {{"annotations", {{cluster::kLimitStatusAnnotation, std::move(value)}}}}}};
  const auto patched = objects_.patch(cluster::kNode, {.ns = "", .name = node_.name()},
                                      {.json = patch.dump(), .subresource = "status"}, call);
  if (patched) {
    write_complaint_.clear();
    return;
  }
  write_not_before_ = now + kPause;
  auto message = patched.error().message();
  if (std::exchange(write_complaint_, message) != message) {
    log_.warn(fmt::format("what became of the limits that were set cannot be told: {}", message));
  }
}

}  // namespace tranche::agent
