#include "controller/template_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "admission/template_name.h"
#include "config/programs/controller_options.h"
#include "controller/share_services.h"
#include "controller/template_uses.h"

namespace tranche::controller {
namespace {

// For seven paged lists.
constexpr std::chrono::minutes kLongestLook{2};
constexpr const char* kPodsTurn = "templates of Pods' shares of GPUs";
constexpr const char* kAllTurn = "templates of shares of GPUs";

constexpr std::array<cluster::Kind, 7> kWorkloads = {
    cluster::kReplicationController,
    cluster::kDeployment,
    cluster::kReplicaSet,
    cluster::kStatefulSet,
    cluster::kDaemonSet,
    cluster::kJob,
    cluster::kCronJob,
};

}  // namespace

TemplateCollector::TemplateCollector(const WorkerContext& context, FleetWatch& fleet,
                                     ShareTemplates& templates, Options options)
    : context_(context),
      fleet_(fleet),
      templates_(templates),
      options_(std::move(options)),
      renewer_(context.objects, context.clock, context.log),
      queue_(context.log, context.backoff,
             [this](const std::string& turn, const std::stop_token& stop) {
               return visit(turn, stop);
             }),
      pods_(context.watches,
            {.kind = cluster::kPod,
             .reduce = {.name = "templates", .make = used_templates_text},
             .in_pages = true},
            [this](const cluster::CacheChange& change) {
              if (!change.object.json.empty()) queue_.ask(kPodsTurn);
            }) {
  fleet_.listen([this] { queue_.ask(kPodsTurn); });
  queue_.ask(kAllTurn);
  queue_.begin();
}

TemplateCollector::~TemplateCollector() {
  fleet_.listen({});
  queue_.stop();
}

std::optional<std::string> TemplateCollector::trouble() const {
  if (const auto why = trouble_of({&pods_})) return why;
  return templates_.trouble();
}

Result<WorkQueue::Next> TemplateCollector::visit(const std::string& turn,
                                                 const std::stop_token& stop) {
  // Until everything is known nothing is created, and nothing counts as unused.
  if (!pods_.synced() || !templates_.synced() || !fleet_.fleet()) {
    return std::chrono::milliseconds(100);
  }
  ASSIGN_OR_RETURN(const auto call, context_.call_while_leading(kLongestLook, stop));
  if (turn == kPodsTurn) {
    TRY(make(uses_of_pods(), call));
    return renewer_.next();
  }
  ASSIGN_OR_RETURN(auto uses, uses_of_workloads(call));
  for (auto& [template_key, claims] : uses_of_pods()) uses[template_key].merge(claims);
  TRY(collect(uses, call));
  TRY(make(uses, call));
  return options_.look;
}

TemplateCollector::Uses TemplateCollector::uses_of_pods() const {
  Uses uses;
  for (const auto& pod : pods_.all()) {
    for (const auto& use : uses_of(pod.json)) {
      auto& waiting = uses[{.ns = pod.key.ns, .name = use.name}];
      if (!use.claim.empty()) waiting.insert(use);
    }
  }
  return uses;
}

Result<TemplateCollector::Uses> TemplateCollector::uses_of_workloads(
    const cluster::Call& call) const {
  Uses all;
  for (const auto& kind : kWorkloads) {
    Uses uses;
    const auto take = [&](const std::vector<cluster::Object>& page, bool first) -> Result<void> {
      if (first) uses.clear();
      for (const auto& object : page) {
        for (const auto& use : used_templates(object.json)) {
          uses[{.ns = object.key.ns, .name = use.name}];
        }
      }
      return {};
    };
    TRY(context_.objects.list_pages(kind, {}, take, call));
    all.merge(uses);
  }
  return all;
}

// A failure in one namespace does not stop the others.
Result<void> TemplateCollector::make(const Uses& uses, const cluster::Call& call) {
  ASSIGN_OR_RETURN(const auto fleet, fleet_.fleet());
  Result<void> result;
  ClaimRenewer::Waiting waiting;
  for (const auto& [key, claims] : uses) {
    const auto shares = admission::parse_template_name(key.name);
    if (!shares) continue;
    // A template that the current fleet cannot serve stays as it was made.
    const auto wanted = admission::claim_template(*shares, fleet, options_.claim);
    auto made = wanted ? templates_.ensure(key.ns, *wanted, call) : Result<void>();
    for (const auto& [name, claim, pod_claim, pod, uid] : claims) {
      const bool can = wanted && made;
      waiting.emplace(cluster::ObjectKey{key.ns, claim},
                      ClaimRenewer::Wish{can ? std::optional(*wanted) : std::nullopt,
                                         {claim, pod_claim, pod, uid}});
    }
    if (!made && result) result = std::move(made);
  }
  auto renewed = renewer_.renew(waiting, call);
  return result ? std::move(renewed) : std::move(result);
}

Result<void> TemplateCollector::collect(const Uses& uses, const cluster::Call& call) {
  const auto now = context_.clock.now();
  const auto ours = templates_.all();
  std::erase_if(used_, [&](const auto& one) {
    return std::ranges::find(ours, one.first, &cluster::Object::key) == ours.end();
  });
  Result<void> result;
  for (const auto& object : ours) {
    const auto last = used_.try_emplace(object.key, now).first;
    if (uses.contains(object.key)) last->second = now;
    // With a foreign name, somebody else has put our label on it.
    const bool is_ours = admission::parse_template_name(object.key.name).has_value();
    if (!is_ours || now - last->second < options_.unused) continue;
    auto gone = context_.objects.remove(cluster::kResourceClaimTemplate, object.key,
                                        {.uid = object.uid}, call);
    if (gone || gone.error().code == Code::kNotFound) {
      context_.log.info(
          fmt::format("ResourceClaimTemplate {}: removed, nobody has used it for an hour",
                      object.key.to_string()));
    } else if (result) {
      result = std::unexpected(std::move(gone).error().with_context(object.key.to_string()));
    }
  }
  return result;
}

std::optional<WorkerPlan> plan_template_collector(const config::ControllerOptions& options) {
  if (!options.webhook) return std::nullopt;
  return WorkerPlan{
      .name = "share-templates",
      .needs_leadership = true,
      .purposes = {"keeping the ResourceClaimTemplates of shares of GPUs while they are used"},
      .start = [](const WorkerContext& context) -> std::unique_ptr<Worker> {
        auto& shares = *context.shares;
        return std::make_unique<TemplateCollector>(
            context, shares.fleet, shares.templates,
            TemplateCollector::Options{.claim = shares.claim});
      }};
}

}  // namespace tranche::controller
