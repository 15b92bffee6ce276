#include "controller/mig_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/json_value.h"
#include "cluster/client/list_of.h"
#include "cluster/formats/mig_change.h"
#include "cluster/formats/reasons.h"
#include "config/programs/controller_options.h"

namespace tranche::controller {
namespace {

using Phase = mig::PoolStatus::Phase;

constexpr std::chrono::seconds kLongestPoolCall{20};
// The only name in the queue.
constexpr const char* kPools = "MIG pools";

bool is_under_way(Phase phase) { return phase == Phase::kRolling || phase == Phase::kRollingBack; }

// The reason of the Event for a pool's end; null: it has not ended.
const char* reason_of(Phase phase) {
  if (phase == Phase::kDone) return cluster::reason::kMigPoolDone;
  if (phase == Phase::kStopped) return cluster::reason::kMigPoolStopped;
  return phase == Phase::kRolledBack ? cluster::reason::kMigPoolRolledBack : nullptr;
}

// A patch with this applies only to the Node as it was read.
json::Value head_of_node(const cluster::Node& node) {
  return {{"name", node.name}, {"uid", node.uid}, {"resourceVersion", node.resource_version}};
}

std::string apply_text_of(const mig::PoolWrite& write, const std::string& version) {
  auto metadata = head_of_node(write.node);
  metadata["resourceVersion"] = version;
  metadata["annotations"][mig::kMigPoolAnnotation] = mig::encode(write.mark);
  const auto& label = write.mark.label;
  if (!label.empty()) metadata["labels"][cluster::kMigConfigLabel] = label;
  if (!label.empty() && write.accept_outage) {
    metadata["annotations"][cluster::kMigAcceptOutageAnnotation] = label;
  }
  return json::Value({{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(metadata)}})
      .text();
}

// A node belongs to the first pool that selects it.
std::vector<mig::PoolPlan> plans_of(const std::vector<mig::Pool>& pools,
                                    std::vector<cluster::Node> nodes, cluster::WallTime now) {
  std::vector<mig::PoolPlan> plans;
  for (const auto& pool : pools) {
    plans.push_back(mig::plan_pool(pool, nodes, now));
    std::erase_if(nodes, [&](const auto& node) { return mig::is_in(pool, node); });
  }
  return plans;
}

}  // namespace

MigPools::MigPools(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      events_(context.event_recorder()),
      queue_(context.log, context.backoff,
             [this](const std::string&, const std::stop_token& stop) { return visit(stop); }),
      maps_(context.watches,
            {.kind = cluster::kConfigMap,
             .selection = {.ns = options_.ns, .field_selector = "metadata.name=" + options_.name}},
            [this](const cluster::CacheChange&) { queue_.ask(kPools); }) {
  queue_.begin();
}

std::optional<std::string> MigPools::trouble() const { return trouble_of({&maps_}); }

Result<WorkQueue::Next> MigPools::visit(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto call, context_.call_while_leading(kLongestPoolCall, stop));
  ASSIGN_OR_RETURN(const auto pools, read_pools(call));
  if (!pools) return options_.rest;
  ASSIGN_OR_RETURN(auto nodes, read_nodes(call));
  const auto plans = plans_of(*pools, std::move(nodes), context_.clock.wall_now());
  std::vector<mig::PoolStatus> statuses;
  bool under_way = false;
  Result<void> failed;
  for (const auto& plan : plans) {
    under_way = under_way || is_under_way(plan.status.phase);
    statuses.push_back(plan.status);
    for (const auto& one : plan.writes) {
      const auto written = write(one, call);
      if (written) {
        statuses.back().now.push_back(one.node.name);
        continue;
      }
      // A failed write to one node does not stop the others.
      statuses.back().left_alone.push_back({one.node.name, written.error().what});
      failed = std::unexpected(written.error());
    }
  }
  TRY(tell(statuses, call));
  TRY(failed);
  return under_way ? options_.look : options_.rest;
}

Result<std::optional<std::vector<mig::Pool>>> MigPools::read_pools(const cluster::Call& call) {
  const auto object =
      context_.objects.get(cluster::kConfigMap, {.ns = options_.ns, .name = options_.name}, call);
  if (!object && object.error().code != Code::kNotFound) return std::unexpected(object.error());
  if (!object) {
    if (said_.is_news("pools", "missing")) {
      context_.log.warn(fmt::format("ConfigMap {}/{} is not there: no pool gets a MIG layout",
                                    options_.ns, options_.name));
    }
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(pools_map_, cluster::parse_config_map(object->json));
  auto pools = mig::parse_pools(cluster::value_of(pools_map_.data, kKey), kKey);
  if (!pools) {
    const auto what = pools.error().message();
    if (said_.is_news("pools", what)) {
      context_.log.warn(
          fmt::format("ConfigMap {}/{}: {}; no pool is changed", options_.ns, options_.name, what));
      tell_event(true, cluster::reason::kMigPoolsRefused, what, call);
    }
    return std::nullopt;
  }
  said_.forget("pools");
  return *std::move(pools);
}

// Read anew: from an older list, more nodes than allowed could be made unavailable.
Result<std::vector<cluster::Node>> MigPools::read_nodes(const cluster::Call& call) {
  return cluster::list_of(context_.objects, cluster::kNode, {}, cluster::parse_node, call);
}

Result<void> MigPools::write(const mig::PoolWrite& write, const cluster::Call& call) {
  const cluster::ObjectKey key{.ns = "", .name = write.node.name};
  auto version = write.node.resource_version;
  if (!write.mark.label.empty()) {
    auto metadata = head_of_node(write.node);
    metadata["labels"][cluster::kMigStateLabel] = "pending";
    const json::Value pending = {{"metadata", std::move(metadata)}};
    ASSIGN_OR_RETURN(const auto now,
                     context_.objects.patch(cluster::kNode, key, {.json = pending.text()}, call));
    version = now.resource_version;
  }
  TRY(context_.objects.apply(cluster::kNode, key, {.json = apply_text_of(write, version)}, call));
  context_.log.info(fmt::format("pool {}: Node {} {} MIG layout \"{}\"", write.mark.pool,
                                write.node.name, write.mark.back ? "goes back to" : "gets",
                                write.mark.label));
  return {};
}

Result<void> MigPools::tell(const std::vector<mig::PoolStatus>& statuses,
                            const cluster::Call& call) {
  const cluster::ObjectKey key{.ns = options_.ns, .name = options_.name + "-status"};
  ASSIGN_OR_RETURN(const auto object, context_.objects.get(cluster::kConfigMap, key, call));
  ASSIGN_OR_RETURN(const auto known, cluster::parse_config_map(object.json));
  cluster::StringMap wanted;
  std::vector<mig::PoolStatus> ended;
  json::Value data = json::Value::object();
  for (const auto& status : statuses) {
    const auto text = mig::describe(status);
    wanted[status.pool] = text;
    const auto& before = cluster::value_of(known.data, status.pool);
    if (text != before) {
      data[status.pool] = text;
      context_.log.info(fmt::format("pool {}: {}", status.pool, text));
    }
    // Not reported again if another controller did: the text records how it ended.
    if (reason_of(status.phase) != nullptr && text != before) ended.push_back(status);
  }
  for (const auto& [pool, text] : known.data) {
    if (!wanted.contains(pool)) data[pool] = nullptr;
  }
  if (data.empty()) return {};
  const json::Value patch = {{"data", std::move(data)}};
  TRY(context_.objects.patch(cluster::kConfigMap, key, {.json = patch.text()}, call));
  for (const auto& status : ended) {
    tell_event(status.phase != Phase::kDone, reason_of(status.phase),
               fmt::format("pool {}: {}", status.pool, mig::describe(status)), call);
  }
  return {};
}

void MigPools::tell_event(bool warning, const char* reason, std::string note,
                          const cluster::Call& call) {
  events_.record({.regarding = {.api_version = "v1",
                                .kind = "ConfigMap",
                                .ns = options_.ns,
                                .name = options_.name,
                                .uid = pools_map_.uid},
                  .warning = warning,
                  .reason = reason,
                  .action = "ChangeMigLayout",
                  .note = std::move(note)},
                 call);
}

std::optional<WorkerPlan> plan_mig_pools(const config::ControllerOptions& options) {
  if (options.mig_pools.empty()) return std::nullopt;
  return WorkerPlan{
      .name = "mig-pools",
      .needs_leadership = true,
      .purposes = {fmt::format("giving pools of nodes their MIG layout, by ConfigMap {}/{}",
                               options.ns, options.mig_pools)},
      .start = starter<MigPools>({.ns = options.ns, .name = options.mig_pools})};
}

}  // namespace tranche::controller
