#include "controller/fleet_watch.h"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

#include "admission/claim_template.h"
#include "admission/fleet_of.h"
#include "cluster/formats/node_mode.h"
#include "controller/gpu_nodes.h"

namespace tranche::controller {
namespace {

using cluster::ChangeType;

// Applies the change to `known`. False: nothing differs.
template <class T, class Parse>
bool apply_change(const cluster::CacheChange& change, const Parse& parse,
                  std::map<std::string, T>& known) {
  const auto& name = change.object.key.name;
  if (change.type == ChangeType::kDeleted) return known.erase(name) > 0;
  auto value = parse(change.object.json);
  // An unreadable object offers nothing.
  if (!value) return known.erase(name) > 0;
  const auto found = known.find(name);
  if (found != known.end() && found->second == *value) return false;
  known.insert_or_assign(name, *std::move(value));
  return true;
}

// Adds models that no node has yet, as far as a claim has room for them after the existing ones.
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

FleetWatch::FleetWatch(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      slice_cache_(context.watches,
                   {.kind = cluster::kResourceSlice,
                    .selection = {.field_selector = "spec.driver=" + options_.driver},
                    .kind_may_be_missing = true},
                   [this](const cluster::CacheChange& change) { take_slice(change); }),
      node_cache_(context.watches, gpu_nodes(),
                  [this](const cluster::CacheChange& change) { take_node(change); }) {}

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
  {
    const std::scoped_lock lock(mutex_);
    const bool is_synced = change.type == ChangeType::kSynced;
    const auto& name = change.object.key.name;
    const auto before = standing_of(name);
    if (!is_synced && !apply_change(change, cluster::parse_node, nodes_)) return;
    has_nodes_ = has_nodes_ || is_synced;
    if (!has_nodes_) return;
    count_replicas();
    if (!has_slices_ || (!is_synced && standing_of(name) == before)) return;
    count_models();
  }
  notifier_.notify();
}

// Called under mutex_. A label that is no mode leaves a node in the mode that it has.
FleetWatch::Standing FleetWatch::standing_of(const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return Standing::kUnknown;
  const auto mode = cluster::mode_of(found->second);
  const bool takes_claims = !mode || *mode == cluster::NodeMode::kDra;
  return takes_claims ? Standing::kTakesClaims : Standing::kHasLeft;
}

// Called under mutex_.
bool FleetWatch::stays(const Known& known) const {
  if (!known.gone) return true;
  return context_.clock.now() - *known.gone < options_.model_stays &&
         std::ranges::any_of(
             known.nodes,
             [this](const std::string& node) {
               return standing_of(node) == Standing::kTakesClaims;
             });
}

// Called under mutex_.
void FleetWatch::count_models() {
  for (auto& [product, known] : models_) {
    if (!known.gone) known.gone = context_.clock.now();
  }
  auto slices = values_of(slices_);
  std::erase_if(slices, [this](const cluster::ResourceSlice& slice) {
    return standing_of(slice.node) == Standing::kHasLeft;
  });
  whole_alone_ = admission::gives_whole_alone(slices, options_.driver);
  for (auto& model : admission::models_of(slices, options_.driver)) {
    const auto product = model.product;
    models_.insert_or_assign(product, Known{.model = std::move(model)});
  }
  for (const auto& slice : slices) {
    for (const auto& model : admission::models_of({slice}, options_.driver)) {
      models_.at(model.product).nodes.insert(slice.node);
    }
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
    if (stays(known)) fleet.dra_models.push_back(known.model);
  }
  if (!whole_alone_) add_expected(options_.expected, fleet);
  std::ranges::sort(fleet.dra_models, {}, [](const admission::DraModel& one) {
    return std::tuple(one.memory, one.product);
  });
  return fleet;
}

std::optional<std::string> FleetWatch::trouble() const {
  return trouble_of({&slice_cache_, &node_cache_});
}

}  // namespace tranche::controller
