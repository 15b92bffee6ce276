#include "cli/layout/gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"
#include "base/log.h"
#include "cli/layout/words.h"
#include "gpu/mig_tables.h"
#include "gpu/models.h"
#include "nvml/reader.h"

namespace tranche::cli {
namespace {

constexpr std::string_view kShareOtherwise =
    "share it by time-slicing (docs/configuration.md), MPS (docs/mps.md) or limits "
    "(docs/limits.md)";

// Ignores case, and takes '-' for ' '.
bool begins_with(std::string_view text, std::string_view start) {
  const auto plain = [](unsigned char c) { return c == ' ' ? '-' : std::tolower(c); };
  return text.size() >= start.size() &&
         std::ranges::equal(text.substr(0, start.size()), start, {}, plain, plain);
}

// "did you mean a100-40gb or a100-80gb? ", or nothing.
std::string model_question(std::string_view name) {
  std::vector<std::string_view> keys;
  std::vector<std::string_view> longer;
  for (const auto& model : gpu::mig_models()) {
    keys.push_back(model.key);
    if (!name.empty() && begins_with(model.key, name)) longer.push_back(model.key);
  }
  if (const auto near = nearest(name, keys); longer.empty() && near) longer.push_back(*near);
  return longer.empty() ? "" : fmt::format("did you mean {}? ", either(longer));
}

// The named model if it has no MIG: "NVIDIA L20", "l20", "v100".
const gpu::Model* model_without_mig(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA ", "Tesla "}) {
    if (begins_with(name, maker)) name.remove_prefix(maker.size());
  }
  for (const auto& model : gpu::known_models()) {
    if (name.empty() || model.mig_capable || !begins_with(model.name, name)) continue;
    const auto rest = model.name.substr(name.size());
    if (rest.empty() || rest.front() == '-' || rest.front() == ' ') return &model;
  }
  return nullptr;
}

Result<PlannedGpu> gpu_of(const gpu::Machine& machine) {
  std::set<std::string> names;
  PlannedGpu planned;
  for (const auto& gpu : machine.gpus) {
    auto geometry = geometry_of(gpu);
    if (geometry.empty()) continue;
    names.insert(gpu.name);
    planned = {gpu.name, std::move(geometry)};
  }
  if (names.empty()) {
    return fail(Code::kUnsupported, "no GPU of this machine has MIG",
                fmt::format("{}; or name a model: --model a100-80gb", kShareOtherwise));
  }
  if (names.size() > 1) {
    return fail(Code::kInvalidArgument,
                fmt::format("this machine has {}", fmt::join(names, " and ")),
                "name one of them: --model");
  }
  return planned;
}

}  // namespace

gpu::MigGeometry geometry_of(const gpu::Gpu& gpu) {
  if (!gpu.mig_geometry.empty() || gpu.mig_mode == gpu::MigMode::kUnsupported) {
    return gpu.mig_geometry;
  }
  const auto* model = gpu::find_mig_model(gpu.name);
  return model == nullptr ? gpu::MigGeometry() : model->geometry;
}

Result<PlannedGpu> planned_gpu(const config::LayoutOptions& options) {
  if (!options.model.empty()) {
    ASSIGN_OR_RETURN(const auto* model, mig_model(options.model));
    return PlannedGpu{std::string(model->key), model->geometry};
  }
  const Log log(LogLevel::kWarn);
  const auto machine = nvml::Reader(nvml::Connection::make({.driver_root = options.driver_root,
                                                            .host = FsRoot(options.host_root),
                                                            .log = &log}))
                           .read();
  if (machine) return gpu_of(*machine);
  const auto& error = machine.error();
  return fail(error.code, error.what,
              fmt::format("name a model, such as --model a100-80gb, or {}", error.hint));
}

Result<const gpu::MigModel*> mig_model(std::string_view name) {
  if (const auto* model = gpu::find_mig_model(name)) return model;
  if (const auto* model = model_without_mig(name)) {
    return fail(Code::kUnsupported, fmt::format("{} has no MIG", model->name),
                std::string(kShareOtherwise));
  }
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' is no model that is known", name.substr(0, 80)),
              fmt::format("{}'tranche layout list' lists them", model_question(name)));
}

}  // namespace tranche::cli
