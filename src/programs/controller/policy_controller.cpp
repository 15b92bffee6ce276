#include "controller/policy_controller.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "cluster/client/modify.h"
#include "cluster/formats/policy_annotations.h"
#include "cluster/formats/reasons.h"
#include "config/programs/controller_options.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kLongestCall{30};
// The only name in the queue.
constexpr const char* kPolicy = "policy";
// The label that says who manages an object: Helm if the chart created it, else this controller.
constexpr const char* kManagedBy = "app.kubernetes.io/managed-by";
constexpr const char* kUs = "tranche";
// The DaemonSet of the operator's device plugin, in any namespace. Selected by name because RBAC
// can restrict names but not labels.
constexpr const char* kPluginSelector = "metadata.name=nvidia-device-plugin-daemonset";

std::string created(const cluster::Object& object) {
  const auto root = json::parse(object.json);
  const auto time = root ? root->at({"metadata", "creationTimestamp"}) : std::nullopt;
  return time ? time->as_string().value_or("") : "";
}

// Whether the error is transient.
bool passes(Code code) {
  return code == Code::kUnavailable || code == Code::kTimeout || code == Code::kFailedPrecondition;
}

std::string apply_text(const cluster::ObjectKey& key, const MapContent& content,
                       const std::optional<cluster::ConfigMap>& now) {
  cluster::ConfigMap map{.key = key, .annotations = content.annotations, .data = content.data};
  // Set to ours on a map that we created; stays Helm's on the chart's map.
  const auto label = now ? now->labels.find(kManagedBy) : cluster::StringMap::const_iterator();
  if (!now || (label != now->labels.end() && label->second == kUs)) map.labels[kManagedBy] = kUs;
  return cluster::to_json(map);
}

}  // namespace

PolicyController::PolicyController(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      events_(context.event_recorder()),
      queue_(
          context.log, context.backoff,
          [this](const std::string&, const std::stop_token& stop) -> Result<WorkQueue::Next> {
            TRY(reconcile(stop));
            return std::nullopt;
          },
          WorkQueue::Complaint::kWithWaits),
      policies_(context.watches, {.kind = cluster::kClusterPolicy, .kind_may_be_missing = true},
                [this](const cluster::CacheChange&) { queue_.ask_at_once(kPolicy); }),
      maps_(context.watches, {.kind = cluster::kConfigMap, .selection = {.ns = options_.ns}},
            [this](const cluster::CacheChange&) { queue_.ask_at_once(kPolicy); }),
      daemon_sets_(context.watches,
                   {.kind = cluster::kDaemonSet, .selection = {.field_selector = kPluginSelector}},
                   [this](const cluster::CacheChange&) { queue_.ask_at_once(kPolicy); }) {
  if (!options_.agents.empty()) {
    agents_.emplace(context.watches,
                    Watched{.kind = cluster::kDaemonSet,
                            .selection = {.ns = options_.ns,
                                          .field_selector = "metadata.name=" + options_.agents}},
                    [this](const cluster::CacheChange&) { queue_.ask_at_once(kPolicy); });
    nodes_.emplace(context, [this] { queue_.ask_at_once(kPolicy); });
  }
  queue_.begin();
}

PolicyController::~PolicyController() { queue_.stop(); }

std::optional<std::string> PolicyController::trouble() const { return trouble_of(caches()); }

std::vector<const Watch*> PolicyController::caches() const {
  std::vector<const Watch*> all = {&policies_, &maps_, &daemon_sets_};
  if (agents_) all.push_back(&*agents_);
  if (nodes_) all.push_back(&nodes_->cache());
  return all;
}

Result<void> PolicyController::reconcile(const std::stop_token& stop) {
  if (!std::ranges::all_of(caches(), &Watch::synced)) return {};
  const auto all = policies();
  const auto* obeyed = oldest(all.parsed);
  auto facts = this->facts(all, obeyed);
  const auto looked = look_at_nodes(facts, stop);
  auto decision = decide(facts);
  auto result = write_map(decision.map, stop);
  if (!result && passes(result.error().code)) return result;
  if (!result && !decision.conditions.empty()) {
    decision.conditions.front() = {kAppliedCondition, false, cluster::reason::kConfigMapNotWritten,
                                   result.error().message()};
  }
  for (std::size_t i = 0; i < all.objects.size(); ++i) {
    const bool is_obeyed = &all.parsed[i] == obeyed;
    const auto status = is_obeyed ? status_of(decision.conditions)
                                  : PolicyStatus{{ignored(obeyed->name)}, "ignored"};
    auto reported = report(all.objects[i], status, stop);
    if (result && !reported) result = std::move(reported);
  }
  return result ? looked : result;
}

Result<void> PolicyController::look_at_nodes(PolicyFacts& facts, const std::stop_token& stop) {
  if (!nodes_ || !facts.agents) return {};
  facts.not_serving = nodes_->not_serving();
  ASSIGN_OR_RETURN(const auto within, call(stop));
  ASSIGN_OR_RETURN(facts.not_serving,
                   with_ready_pod(context_.objects, *facts.agents, facts.not_serving, within));
  return {};
}

PolicyController::Policies PolicyController::policies() const {
  Policies all{.objects = policies_.all(), .parsed = {}};
  for (const auto& object : all.objects) {
    all.parsed.push_back(
        {object.key.name, created(object), cluster::parse_cluster_policy(object.json)});
  }
  return all;
}

PolicyFacts PolicyController::facts(const Policies& policies, const PolicyObject* obeyed) const {
  PolicyFacts facts{
      .ns = options_.ns, .out_name = options_.out_name, .mps_root = options_.mps_root};
  facts.now = written_content();
  if (obeyed == nullptr) return facts;
  facts.policy = obeyed->policy;
  if (obeyed->policy) {
    if (const auto& name = obeyed->policy->config_name) facts.named = find_map(*name);
  }
  std::vector<cluster::DaemonSet> sets;
  for (const auto& object : daemon_sets_.all()) {
    if (auto set = cluster::parse_daemon_set(object.json)) sets.push_back(*std::move(set));
  }
  facts.operator_plugin = find_operator_plugin(sets, policies.parsed);
  facts.agents_name = options_.agents;
  if (const auto object =
          agents_ ? agents_->find({.ns = options_.ns, .name = options_.agents}) : std::nullopt) {
    if (auto set = cluster::parse_daemon_set(object->json)) facts.agents = *std::move(set);
  }
  return facts;
}

MapContent PolicyController::written_content() const {
  const auto cached = find_map(options_.out_name);
  // While the cache still has the version that our last write replaced, what was written counts.
  if (written_ && written_->version == (cached ? cached->resource_version : "")) {
    return written_->after;
  }
  return cached ? content_of(*cached) : MapContent();
}

std::optional<cluster::ConfigMap> PolicyController::find_map(const std::string& name) const {
  const auto object = maps_.find({.ns = options_.ns, .name = name});
  if (!object) return std::nullopt;
  auto map = cluster::parse_config_map(object->json);
  return map ? std::optional(*std::move(map)) : std::nullopt;
}

Result<void> PolicyController::write_map(const MapContent& wanted, const std::stop_token& stop) {
  const cluster::ObjectKey key{.ns = options_.ns, .name = options_.out_name};
  const auto now = find_map(key.name);
  if (now && !now->labels.contains(kManagedBy)) {
    return fail(Code::kPermission,
                fmt::format("ConfigMap {} is not Tranche's to write: it has no label {}",
                            key.to_string(), kManagedBy),
                fmt::format("name another with --config-map-out, or give this one away: kubectl "
                            "label configmap {} -n {} {}={}",
                            key.name, key.ns, kManagedBy, kUs));
  }
  const auto version = now ? now->resource_version : std::string();
  // The cache may not have the last write yet: then what was written counts.
  const bool behind = !version.empty() && written_ && written_->version == version;
  std::optional<MapContent> content;
  if (now) content = behind ? written_->after : content_of(*now);
  if (content == wanted) return {};
  // Keys added by others stay, and cause no further write.
  if (written_ && written_->wanted == wanted && written_->after == content) return {};
  ASSIGN_OR_RETURN(const auto within, call(stop));
  ASSIGN_OR_RETURN(
      const auto applied,
      context_.objects.apply(cluster::kConfigMap, key,
                             {.json = apply_text(key, wanted, now), .force = true}, within));
  ASSIGN_OR_RETURN(const auto map, cluster::parse_config_map(applied.json));
  written_ = {version, wanted, content_of(map)};
  context_.log.info(fmt::format(
      "wrote ConfigMap {}: {} configurations{}", key.to_string(), wanted.data.size(),
      wanted.annotations.contains(cluster::kWithholdAnnotation) ? "; no GPU is to be advertised"
                                                                : ""));
  warn_of_foreign_keys(wanted, written_->after);
  return {};
}

void PolicyController::warn_of_foreign_keys(const MapContent& wanted,
                                            const MapContent& after) const {
  std::vector<std::string> foreign;
  for (const auto& [key, value] : after.data) {
    if (!wanted.data.contains(key)) foreign.push_back(key);
  }
  if (foreign.empty()) return;
  context_.log.warn(fmt::format(
      "ConfigMap {}/{} has keys that somebody else put there, and agents can be told to use them: "
      "{}; remove them with kubectl edit",
      options_.ns, options_.out_name, fmt::join(foreign, ", ")));
}

Result<void> PolicyController::report(const cluster::Object& policy, const PolicyStatus& status,
                                      const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto differs, with_status(policy.json, status, context_.clock.wall_now()));
  if (!differs) return {};
  std::optional<Condition> before;
  const auto change = [&](const cluster::Object& now) {
    before = applied_of(now.json);
    return with_status(now.json, status, context_.clock.wall_now());
  };
  ASSIGN_OR_RETURN(const auto within, call(stop));
  const auto written = cluster::modify(context_.objects, cluster::kClusterPolicy, policy.key,
                                       change, within, "status");
  // The policy was deleted since.
  if (!written && written.error().code == Code::kNotFound) return {};
  if (!written) return std::unexpected(written.error());
  const auto& outcome = status.conditions.front();
  const auto known = told_.find(policy.uid);
  if (before == outcome || (known != told_.end() && known->second == outcome)) return {};
  told_.insert_or_assign(policy.uid, outcome);
  context_.log.write(outcome.is_true ? LogLevel::kInfo : LogLevel::kWarn,
                     fmt::format("ClusterPolicy {}: {}", policy.key.name, outcome.message));
  if (applied_of(written->json) != outcome) {
    context_.log.warn(
        fmt::format("ClusterPolicy {} keeps no conditions (its definition is older than they "
                    "are): read the outcome here and in its Events",
                    policy.key.name));
  }
  tell(policy, outcome, stop);
  return {};
}

void PolicyController::tell(const cluster::Object& policy, const Condition& outcome,
                            const std::stop_token& stop) {
  const auto within = call(stop);
  if (!within) return;
  events_.record({.regarding = {.api_version = cluster::kClusterPolicy.api_version(),
                                .kind = std::string(cluster::kClusterPolicy.kind),
                                .name = policy.key.name,
                                .uid = policy.uid},
                  .warning = !outcome.is_true,
                  .reason = outcome.reason,
                  .action = "Apply",
                  .note = outcome.message},
                 *within);
}

Result<cluster::Call> PolicyController::call(const std::stop_token& stop) const {
  return context_.call_while_leading(kLongestCall, stop);
}

std::optional<WorkerPlan> plan_policy(const config::ControllerOptions& options) {
  if (options.config_map_out.empty()) return std::nullopt;
  auto purpose = fmt::format("following the ClusterPolicy; agents follow ConfigMap {}/{}",
                             options.ns, options.config_map_out);
  return WorkerPlan{.name = "policy",
                    .needs_leadership = true,
                    .purposes = {std::move(purpose)},
                    .start = starter<PolicyController>({.ns = options.ns,
                                                        .out_name = options.config_map_out,
                                                        .mps_root = options.mps_root,
                                                        .agents = options.agents})};
}

}  // namespace tranche::controller
