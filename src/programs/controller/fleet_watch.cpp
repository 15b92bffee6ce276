#include "controller/fleet_watch.h"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "admission/claim_template.h"
#include "admission/fleet_of.h"
#include "base/json.h"
#include "base/json_value.h"

namespace tranche::controller {
namespace {

using cluster::ChangeType;

bool is_about_gpus(std::string_view key) {
  return key.starts_with("nvidia.com/") || key.starts_with("tranche.dev/");
}

void keep_gpu_members(const json::View& node, std::initializer_list<std::string_view> path,
                      json::Value& place) {
  place = json::Value::object();
  const auto found = node.at(path);
  if (!found) return;
  for (const auto& member : found->members()) {
    if (is_about_gpus(member.key)) place[member.key] = json::Value::copy(member.value);
  }
}

// What of a Node is read. The whole of it is a hundred times as long.
std::string reduced_node(const std::string& text) {
  const auto node = json::parse(text);
  const auto name = node ? node->at({"metadata", "name"}) : std::nullopt;
  if (!name) return text;
  json::Value kept = json::Value::object();
  kept["metadata"]["name"] = json::Value::copy(*name);
  keep_gpu_members(*node, {"metadata", "labels"}, kept["metadata"]["labels"]);
  keep_gpu_members(*node, {"status", "allocatable"}, kept["status"]["allocatable"]);
  return kept.text();
}

// Puts what the change says into `known`. False: nothing is different.
template <class T, class Parse>
bool apply_change(const cluster::CacheChange& change, const Parse& parse,
                  std::map<std::string, T>& known) {
  const auto& name = change.object.key.name;
  if (change.type == ChangeType::kDeleted) return known.erase(name) > 0;
  auto value = parse(change.object.json);
  // What cannot be read offers nothing to anybody.
  if (!value) return known.erase(name) > 0;
  const auto found = known.find(name);
  if (found != known.end() && found->second == *value) return false;
  known.insert_or_assign(name, *std::move(value));
  return true;
}

// Models that no node has yet, as many as a claim has room for beside those that are there.
void add_expected(const std::vector<admission::DraModel>& expected, admission::Fleet& fleet) {
  auto& models = fleet.dra_models;
  fleet.is_awaited = models.empty() && !expected.empty();
  for (const auto& model : expected) {
    if (models.size() >= admission::kMostModels) return;
    const auto same = std::ranges::find(models, model.product, &admission::DraModel::product);
    if (same == models.end()) models.push_back(model);
  }
}

template <class T>
std::vector<T> values_of(const std::map<std::string, T>& known) {
  std::vector<T> values;
  values.reserve(known.size());
  for (const auto& [name, value] : known) values.push_back(value);
  return values;
}

}  // namespace

FleetWatch::FleetWatch(cluster::Objects& objects, Options options, const Clock& clock,
                       const Log& log)
    : options_(std::move(options)),
      clock_(clock),
      slice_cache_(
          objects,
          {.kind = cluster::kResourceSlice,
           .selection = {.field_selector = "spec.driver=" + options_.driver},
           .kind_may_be_missing = true,
           .backoff = options_.watch_backoff},
          [this](const cluster::CacheChange& change) { take_slice(change); }, log),
      node_cache_(
          objects,
          {.kind = cluster::kNode, .reduce = reduced_node, .backoff = options_.watch_backoff},
          [this](const cluster::CacheChange& change) { take_node(change); }, log) {}

void FleetWatch::take_slice(const cluster::CacheChange& change) {
  {
    const std::scoped_lock lock(mutex_);
    if (change.type == ChangeType::kSynced) {
      has_slices_ = true;
    } else if (!apply_change(change, cluster::parse_resource_slice, slices_) || !has_slices_) {
      return;
    }
    count_models();
  }
  notifier_.notify();
}

void FleetWatch::take_node(const cluster::CacheChange& change) {
  const std::scoped_lock lock(mutex_);
  if (change.type == ChangeType::kSynced) {
    has_nodes_ = true;
    count_replicas();
  } else if (apply_change(change, cluster::parse_node, nodes_) && has_nodes_) {
    count_replicas();
  }
}

// Called under mutex_.
void FleetWatch::count_models() {
  for (auto& [product, known] : models_) {
    if (!known.gone) known.gone = clock_.now();
  }
  const auto slices = values_of(slices_);
  whole_alone_ = admission::gives_whole_alone(slices, options_.driver);
  for (auto& model : admission::models_of(slices, options_.driver)) {
    const auto product = model.product;
    models_.insert_or_assign(product, Known{.model = std::move(model)});
  }
}

// Called under mutex_.
void FleetWatch::count_replicas() { replicas_ = admission::replicas_of(values_of(nodes_)); }

Result<admission::Fleet> FleetWatch::fleet() const {
  const std::scoped_lock lock(mutex_);
  if (!has_slices_ || !has_nodes_) {
    return fail(Code::kUnavailable, "the controller has not seen the cluster's GPUs yet",
                "try again in a moment");
  }
  admission::Fleet fleet{.dra_models = {}, .replicas = replicas_, .whole_alone = whole_alone_};
  for (const auto& [product, known] : models_) {
    if (known.gone && clock_.now() - *known.gone >= options_.model_stays) continue;
    fleet.dra_models.push_back(known.model);
  }
  if (!whole_alone_) add_expected(options_.expected, fleet);
  std::ranges::sort(fleet.dra_models, {}, [](const admission::DraModel& one) {
    return std::tuple(one.memory, one.product);
  });
  return fleet;
}

std::optional<std::string> FleetWatch::trouble() const {
  for (const auto* cache : {&slice_cache_, &node_cache_}) {
    if (const auto failure = cache->failure()) return failure->message();
    if (!cache->synced()) return "the API server has not answered yet";
  }
  return std::nullopt;
}

}  // namespace tranche::controller
