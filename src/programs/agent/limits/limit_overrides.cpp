#include "agent/limits/limit_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cluster/formats/reasons.h"
#include "holdings/users.h"

namespace tranche::agent {
namespace {

using cluster::LimitOutcome;
using cluster::LimitSetting;

constexpr const char* kNobody = "no running container holds the resource with limits";
constexpr const char* kUnlimited =
    "the claim's device is not limited, and the container was started without the limiter; write "
    "tranche.limits for nvidia.com/gpu in the node's configuration and start the Pod anew, or "
    "claim a share";

// A container with a resource or a claim.
struct Holder {
  std::string ns;
  std::string pod;
  std::string container;
  std::string resource;
  std::vector<std::string> tenants;  // empty: it has no limits
  bool unlimited = false;            // one of its claim's devices has no limits

  bool is(const holdings::Holding& one) const {
    return ns == one.ns && pod == one.pod && container == one.container &&
           resource == one.resource.value;
  }
};

// The holders whose containers are known; settings need the container.
std::vector<Holder> all_holders(const holdings::Holdings& all) {
  std::vector<Holder> holders;
  for (const auto& one : all) {
    if (one.state != holdings::State::kInUse || one.wire == holdings::Wire::kNone) continue;
    auto holder = std::ranges::find_if(holders, [&](const Holder& known) { return known.is(one); });
    if (holder == holders.end()) {
      holder =
          holders.insert(holder, {one.ns, one.pod, one.container, one.resource.value, {}, false});
    }
    auto& tenants = holder->tenants;
    if (one.tenant.empty()) {
      holder->unlimited = holder->unlimited || one.wire == holdings::Wire::kClaim;
    } else if (std::ranges::find(tenants, one.tenant) == tenants.end()) {
      tenants.push_back(one.tenant);
    }
  }
  return holders;
}

const Holder* holder_of(const LimitSetting& setting, const std::vector<Holder>& holders) {
  const auto holder = std::ranges::find_if(holders, [&](const Holder& one) {
    return one.ns == setting.ns && one.pod == setting.pod && one.container == setting.container &&
           one.resource == setting.resource;
  });
  return holder == holders.end() ? nullptr : &*holder;
}

// A setting for one container, its origin, and the container's tenants.
struct Wanted {
  LimitSetting setting;
  Raising raising = Raising::kAllowed;
  bool unlimited = false;  // Holder::unlimited: it cannot hold
  // By tenant, with the number of its settings that come first. Empty: none.
  std::vector<std::pair<std::string, std::size_t>> tenants = {};
};

std::vector<cluster::Pod>::const_iterator pod_of(const Holder& holder,
                                                 const std::vector<cluster::Pod>& pods) {
  return std::ranges::find_if(
      pods, [&](const cluster::Pod& one) { return one.ns == holder.ns && one.name == holder.pod; });
}

// The setting in the Pod's annotations, for each container; empty: none.
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

// Added after the operator's setting for the container, which takes precedence.
void add_annotated(const Holder& holder, const std::vector<cluster::Pod>& pods,
                   std::vector<Wanted>& wanted) {
  const auto pod = pod_of(holder, pods);
  if (pod == pods.end()) return;
  auto setting = annotated_setting(*pod);
  if (setting.is_empty()) return;
  setting.container = holder.container;
  setting.resource = holder.resource;
  wanted.push_back({.setting = std::move(setting), .raising = Raising::kRefused});
}

std::map<std::string, std::string> classes_of(const std::vector<Holder>& holders,
                                              const std::vector<cluster::Pod>& pods) {
  std::map<std::string, std::string> classes;
  for (const auto& holder : holders) {
    const auto pod = pod_of(holder, pods);
    if (pod == pods.end() || pod->priority_class.empty()) continue;
    for (const auto& tenant : holder.tenants) classes.emplace(tenant, pod->priority_class);
  }
  return classes;
}

TenantManager::Settings by_tenant(std::vector<Wanted>& wanted, const std::vector<Holder>& holders,
                                  const std::vector<cluster::Pod>& pods) {
  TenantManager::Settings settings;
  for (auto& one : wanted) {
    const bool is_meant = std::ranges::any_of(pods, [&](const cluster::Pod& pod) {
      return pod.uid == one.setting.uid && pod.ns == one.setting.ns && pod.name == one.setting.pod;
    });
    const auto* const holder = holder_of(one.setting, holders);
    if (!is_meant || holder == nullptr) continue;
    one.unlimited = holder->unlimited;
    if (one.unlimited) continue;
    for (const auto& tenant : holder->tenants) {
      auto& its = settings[tenant];
      one.tenants.emplace_back(tenant, its.size());
      its.push_back({one.setting, one.raising, holder->tenants});
    }
  }
  return settings;
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
  if (wanted.unlimited) {
    outcome.state = LimitOutcome::State::kRefused;
    outcome.message = kUnlimited;
    return outcome;
  }
  if (wanted.tenants.empty()) outcome.message = kNobody;
  for (const auto& [tenant, before] : wanted.tenants) {
    const auto tried = answers.find(tenant);
    if (tried == answers.end()) {
      outcome.message = kNobody;
    } else if (before >= tried->second.size()) {
      outcome.message = "a newer setting of the container holds";
    } else if (const auto& answer = tried->second[before]; !answer) {
      outcome.state = LimitOutcome::State::kRefused;
      outcome.message = answer.error().message();
      return outcome;
    } else {
      std::ranges::move(devices_of(*answer), std::back_inserter(outcome.devices));
    }
  }
  if (outcome.message.empty()) outcome.state = LimitOutcome::State::kHolds;
  if (!outcome.message.empty()) outcome.devices.clear();
  return outcome;
}

}  // namespace

LimitOverrides::LimitOverrides(cluster::Objects& objects, const NodeView& node, PodsOfNode& pods,
                               Book& book, const Clock& clock, const Log& log)
    : node_(node),
      pods_(pods),
      book_(book),
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
  answer(*node, call);
}

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
  if (annotated || !settings.empty() || manager.maps_classes()) {
    // A setting may be for a container that has just started.
    if (!book_.ask(holders, HolderAnswers::kNow)) return std::nullopt;
  }
  const auto all = all_holders(holdings::with_users(book_.all(), *pods));
  std::vector<Wanted> wanted;
  for (const auto& setting : settings) wanted.push_back({.setting = setting});
  for (const auto& holder : all) add_annotated(holder, *pods, wanted);
  auto settings_of_tenants = by_tenant(wanted, all, *pods);
  const auto answers = manager.settle(std::move(settings_of_tenants), classes_of(all, *pods),
                                      manager.knows_claims());
  Outcomes outcomes;
  annotated_.clear();
  for (const auto& one : wanted) {
    auto outcome = outcome_of(one, answers);
    if (one.raising == Raising::kAllowed) {
      outcomes.push_back(std::move(outcome));
    } else if (outcome.state != LimitOutcome::State::kWaiting) {
      annotated_.push_back(std::move(outcome));
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
  for (const auto& outcome : annotated_) add(outcome, cluster::reason::kLimitAnnotationRefused);
  std::erase_if(refused_since_, [&](const auto& one) { return !standing.contains(one.first); });
  return standing;
}

// A Pod's owner takes no room from the operator's settings, and cannot make the answer unreadable.
LimitOverrides::Outcomes LimitOverrides::answers() const {
  auto all = outcomes_;
  for (const auto& outcome : annotated_) {
    if (all.size() >= LimitSetting::kMostEntries) break;
    auto& added = all.emplace_back(outcome);
    added.by = LimitOutcome::By::kAnnotations;
    for (auto* value : {&added.setting.memory, &added.setting.compute, &added.setting.priority}) {
      if (!cluster::is_limit_value(*value)) value->clear();
    }
  }
  return all;
}

void LimitOverrides::answer(const cluster::Node& node, const cluster::Call& call) {
  const auto outcomes = answers();
  const auto text = outcomes.empty() ? std::string() : cluster::encode(outcomes);
  if (cluster::value_of(node.annotations, cluster::kLimitStatusAnnotation) == text) return;
  const auto value = text.empty() ? std::nullopt : std::optional(text);
  writer_.write({.labels = {}, .annotations = {{cluster::kLimitStatusAnnotation, value}}}, call);
}

}  // namespace tranche::agent
