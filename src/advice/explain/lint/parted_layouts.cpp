#include "explain/lint/parted_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "explain/lint/place.h"
#include "gpu/mig_tables.h"
#include "mig/place.h"

namespace tranche::lint {
namespace {

// Whether a filter (0xDDDDVVVV) is for the model (DDDD).
bool is_for(const mig::DeviceFilter& filter, const gpu::MigModel& model) {
  return std::ranges::any_of(model.pci_device_ids, [&](std::string_view id) {
    std::uint32_t number = 0;
    std::from_chars(id.data(), id.data() + id.size(), number, 16);
    return filter.device >> 16U == number;
  });
}

std::vector<const gpu::MigModel*> models_of(const mig::PartedEntry& entry) {
  std::vector<const gpu::MigModel*> models;
  for (const auto& model : gpu::mig_models()) {
    const bool asked = entry.filters.empty() ||
                       std::ranges::any_of(entry.filters, [&](const mig::DeviceFilter& filter) {
                         return is_for(filter, model);
                       });
    if (asked) models.push_back(&model);
  }
  return models;
}

Finding impossible(const mig::GpuWish& wish, const gpu::MigModel& model,
                   const std::vector<mig::InstanceWish>& instances) {
  const auto near = mig::nearest(wish, model.geometry, 1);
  return {.what = fmt::format("no GPU can have {}: on {}, {}", mig::describe(wish), model.key,
                              mig::why_not(instances, model.geometry)),
          .fix = near.empty() ? fmt::format("tranche layout list --model {} shows what it can have",
                                            model.key)
                              : fmt::format("nearest is {}", mig::describe(near.front()))};
}

}  // namespace

std::optional<Finding> check_instances(const mig::PartedEntry& entry) {
  if (entry.wish.devices.empty()) return std::nullopt;
  const auto models = models_of(entry);
  std::optional<Finding> finding;
  for (const auto* model : models) {
    const auto instances = mig::instances_of(entry.wish, model->geometry);
    if (!instances) continue;
    if (mig::can_place(*instances, model->geometry)) return std::nullopt;
    if (!finding) finding = impossible(entry.wish, *model, *instances);
  }
  if (models.empty() || finding) return finding;
  return Finding{
      .level = Level::kWarning,
      .what = fmt::format("no model that is known here has {}", mig::describe(entry.wish)),
      .fix = "tranche layout list shows models and their profiles"};
}

}  // namespace tranche::lint
