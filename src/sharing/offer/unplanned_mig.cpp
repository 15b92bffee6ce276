#include "offer/unplanned_mig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace tranche::offer {
namespace {

std::vector<int> gpus_in(const gpu::Machine& machine, gpu::MigMode mode) {
  std::vector<int> indices;
  for (const auto& gpu : machine.gpus) {
    if (gpu.mig_mode == mode && !gpu.uuid.value.empty()) indices.push_back(gpu.index);
  }
  return indices;
}

std::string named(const std::vector<int>& gpus) {
  return fmt::format("GPU{} {}", gpus.size() == 1 ? "" : "s", fmt::join(gpus, ", "));
}

}  // namespace

bool names_a_layout(std::string_view mig_config) {
  return !mig_config.empty() && mig_config != "all-disabled";
}

std::string unplanned_mig(const gpu::Machine& machine, config::MigStrategy strategy, bool planned) {
  const auto cut = gpus_in(machine, gpu::MigMode::kEnabled);
  const auto whole = gpus_in(machine, gpu::MigMode::kDisabled);
  if (cut.empty()) return {};
  if (strategy == config::MigStrategy::kNone) {
    return fmt::format(
        "{} in MIG mode, advertised whole by migStrategy none: CUDA uses one instance of such a "
        "GPU, and none where there is none; set migStrategy to mixed or single, or disable MIG",
        named(cut));
  }
  if (strategy != config::MigStrategy::kMixed || whole.empty() || planned) return {};
  return fmt::format(
      "{} advertised whole and {} in MIG instances, and no layout says so: name one in the label "
      "nvidia.com/mig.config of the Node if that is meant, else enable MIG on all GPUs or on none",
      named(whole), named(cut));
}

}  // namespace tranche::offer
