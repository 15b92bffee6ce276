// tranche layout list: the models with MIG, or the possible layouts of one.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/exit_code.h"
#include "base/json_value.h"
#include "cli/layout/print.h"
#include "cli/layout/words.h"
#include "cli/shell/output.h"
#include "config/programs/layout_options.h"
#include "mig/place.h"

namespace tranche::cli {
namespace {

using gpu::GpuInstanceProfile;
using gpu::MigAttributes;
using gpu::MigModel;
using Rows = std::vector<std::vector<std::string>>;

std::string reset_text(const MigModel& model) {
  if (!model.mode_needs_reset) return "?";
  return *model.mode_needs_reset ? "yes" : "no";
}

std::string models_table() {
  Rows rows = {{"MODEL", "SLICES", "RESET", "LARGEST", "SMALLEST", "PRODUCTS"}};
  for (const auto& model : gpu::mig_models()) {
    const auto& geometry = model.geometry;
    rows.push_back({std::string(model.key),
                    fmt::format("{} x {}", geometry.compute_slices, geometry.memory_slices),
                    reset_text(model), geometry.profiles.back().name,
                    geometry.profiles.front().name,
                    fmt::format("{}", fmt::join(model.product_names, ", "))});
  }
  return aligned(rows) +
         "\nSLICES: compute x memory. RESET: whether switching MIG on or off needs a GPU reset.\n";
}

std::string figure(const std::optional<MigAttributes>& attributes, int MigAttributes::* member) {
  return attributes ? fmt::format("{}", (*attributes).*member) : "?";
}

std::vector<std::string> profile_row(const GpuInstanceProfile& profile) {
  const auto& known = profile.attributes;
  return {profile.name,
          fmt::format("{}", profile.id),
          fmt::format("{}", profile.compute_slices),
          fmt::format("{}", profile.memory_slices),
          known ? fmt::format("{}", known->memory.mib()) : "?",
          figure(known, &MigAttributes::multiprocessors),
          figure(known, &MigAttributes::copy_engines),
          figure(known, &MigAttributes::decoders),
          figure(known, &MigAttributes::encoders),
          figure(known, &MigAttributes::jpeg_engines),
          figure(known, &MigAttributes::ofa_engines),
          fmt::format("{}", profile.max_instances),
          fmt::format("{}", fmt::join(profile.starts, ","))};
}

std::string profiles_table(const MigModel& model) {
  Rows rows = {{"PROFILE", "ID", "COMPUTE", "MEMORY", "MIB", "SM", "COPY", "DEC", "ENC", "JPEG",
                "OFA", "MOST", "STARTS"}};
  for (const auto& profile : model.geometry.profiles) rows.push_back(profile_row(profile));
  return aligned(rows);
}

bool is_plain(const std::vector<mig::InstanceWish>& wishes, const gpu::MigGeometry& geometry) {
  return std::ranges::all_of(wishes, [&](const mig::InstanceWish& wish) {
    return geometry.find(wish.profile_id)->kind == gpu::MigKind::kPlain;
  });
}

// Only layouts of plain profiles: there are many that differ only in the kind of an instance.
std::string layouts_text(const gpu::MigGeometry& geometry) {
  Rows rows = {{"LAYOUT", "STRANDED COMPUTE", "STRANDED MEMORY"}};
  std::size_t others = 0;
  for (const auto& wishes : mig::full_layouts(geometry)) {
    const auto layout = mig::place(wishes, geometry);
    if (!layout || !is_plain(wishes, geometry)) {
      ++others;
      continue;
    }
    const auto free = mig::stranded(*layout, geometry);
    rows.push_back({mig::describe(*layout, geometry), fmt::format("{}", free.compute_slices),
                    fmt::format("{}", free.memory_slices)});
  }
  return aligned(rows) +
         fmt::format("\n{} more have profiles with +me, -me or +gfx; -o json lists them all.\n",
                     others);
}

std::string model_table(const MigModel& model) {
  return fmt::format("{}: {}\n\n{}\nTo these no instance can be added:\n\n{}", model.key,
                     fmt::join(model.product_names, ", "), profiles_table(model),
                     layouts_text(model.geometry));
}

json::Value profile_value(const GpuInstanceProfile& profile) {
  json::Value value = {{"name", profile.name},
                       {"id", profile.id},
                       {"computeSlices", profile.compute_slices},
                       {"memorySlices", profile.memory_slices},
                       {"atMost", profile.max_instances},
                       {"starts", profile.starts}};
  if (const auto& known = profile.attributes) {
    value["memoryMiB"] = known->memory.mib();
    value["multiprocessors"] = known->multiprocessors;
    value["copyEngines"] = known->copy_engines;
    value["decoders"] = known->decoders;
    value["encoders"] = known->encoders;
    value["jpegEngines"] = known->jpeg_engines;
    value["ofaEngines"] = known->ofa_engines;
  }
  return value;
}

json::Value layouts_value(const gpu::MigGeometry& geometry) {
  auto layouts = json::Value::array();
  for (const auto& wishes : mig::full_layouts(geometry)) {
    const auto layout = mig::place(wishes, geometry);
    if (!layout) continue;
    const auto free = mig::stranded(*layout, geometry);
    layouts.push_back({{"devices", mig::devices_of(*layout, geometry)},
                       {"strandedComputeSlices", free.compute_slices},
                       {"strandedMemorySlices", free.memory_slices}});
  }
  return layouts;
}

json::Value model_value(const MigModel& model) {
  auto products = json::Value::array();
  for (const auto name : model.product_names) products.push_back(name);
  json::Value value = {{"key", model.key},
                       {"productNames", std::move(products)},
                       {"computeSlices", model.geometry.compute_slices},
                       {"memorySlices", model.geometry.memory_slices}};
  if (model.mode_needs_reset) value["modeNeedsReset"] = *model.mode_needs_reset;
  auto profiles = json::Value::array();
  for (const auto& profile : model.geometry.profiles) profiles.push_back(profile_value(profile));
  value["profiles"] = std::move(profiles);
  value["fullLayouts"] = layouts_value(model.geometry);
  return value;
}

json::Value document(const MigModel* model) {
  auto models = json::Value::array();
  for (const auto& one : gpu::mig_models()) {
    if (model == nullptr || model == &one) models.push_back(model_value(one));
  }
  return {{"version", "layout-list/v1"}, {"models", std::move(models)}};
}

}  // namespace

int run_layout_list(const LayoutCall& call) {
  if (!call.arguments.empty()) {
    return refuse(call, fmt::format("unexpected argument '{}'", call.arguments[0]));
  }
  const auto options = config::load_layout_options(call.sources, call.use(), {});
  if (!options) return refuse(call, options.error().message());
  const MigModel* model = nullptr;
  if (!options->model.empty()) {
    const auto found = mig_model(options->model);
    if (!found) return end(call, found.error());
    model = *found;
  }
  if (options->output != config::LayoutOptions::Output::kTable) {
    fmt::print("{}", written(document(model), form_of(options->output)));
  } else {
    fmt::print("{}", model == nullptr ? models_table() : model_table(*model));
  }
  return kExitFine;
}

}  // namespace tranche::cli
