#include "sim/gpu/enumerate.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/fs.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/visible.h"
#include "sim/machine/read_number.h"

namespace tranche::sim {
namespace {

struct Candidate {
  UseTarget target;
  std::string uuid;
};

// All that the container has: GPUs first, then MIG devices.
std::vector<Candidate> candidates(const State& state) {
  const Visible visible = read_visible(state, std::getenv("NVIDIA_VISIBLE_DEVICES"), FsRoot());
  std::vector<Candidate> gpus;
  std::vector<Candidate> migs;
  for (std::uint32_t i = 0; i < state.gpu_count; ++i) {
    const Gpu& gpu = state.gpus[i];
    const bool present = gpu.presence.load() == static_cast<std::uint32_t>(Presence::kPresent);
    if (!present || !visible.shows(i)) continue;
    if (gpu.mig_current.load() == 0) gpus.push_back({{.gpu = i}, gpu.uuid});
    for (const MigDevice device : mig_devices(gpu)) {
      if (!visible.shows(i, device.gpu_instance, device.compute_instance)) continue;
      migs.push_back({{.gpu = i,
                       .gpu_instance = device.gpu_instance,
                       .compute_instance = device.compute_instance},
                      mig_uuid(gpu, device)});
    }
  }
  std::ranges::move(migs, std::back_inserter(gpus));
  return gpus;
}

// The fastest first is CUDA's own order; CUDA_DEVICE_ORDER=PCI_BUS_ID keeps NVML's.
void sort_by_speed(const State& state, std::vector<Candidate>& gpus) {
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  if (order != nullptr && std::string_view(order) == "PCI_BUS_ID") return;
  std::ranges::stable_sort(gpus, std::ranges::greater{}, [&](const Candidate& candidate) {
    const Model& model = state.models[state.gpus[candidate.target.gpu].model];
    return std::uint64_t{model.sm_count} * model.clock_sm_mhz;
  });
}

bool is_mig(const Candidate& candidate) { return candidate.target.gpu_instance != kNone; }

// What is visible without a selection.
std::vector<Candidate> enumerated(const State& state, const std::vector<Candidate>& all) {
  const auto mig = std::ranges::find_if(all, is_mig);
  if (mig != all.end()) return {*mig};
  std::vector<Candidate> gpus = all;
  sort_by_speed(state, gpus);
  return gpus;
}

const Candidate* choose(std::string_view item, const std::vector<Candidate>& all,
                        const std::vector<Candidate>& by_index) {
  if (item.starts_with("GPU-") || item.starts_with("MIG-")) {
    const auto found = std::ranges::find_if(
        all, [&](const Candidate& candidate) { return candidate.uuid.starts_with(item); });
    return found == all.end() ? nullptr : &*found;
  }
  const auto index = read_number<std::size_t>(item);
  return index && *index < by_index.size() ? &by_index[*index] : nullptr;
}

std::vector<UseTarget> targets_of(const std::vector<Candidate>& chosen) {
  std::vector<UseTarget> targets;
  for (const Candidate& candidate : chosen) targets.push_back(candidate.target);
  return targets;
}

}  // namespace

std::vector<UseTarget> enumerate_devices(const State& state) {
  const std::vector<Candidate> all = candidates(state);
  const std::vector<Candidate> by_index = enumerated(state, all);
  const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
  if (value == nullptr) return targets_of(by_index);
  std::vector<Candidate> chosen;
  std::string_view rest = value;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const Candidate* const one = choose(rest.substr(0, comma), all, by_index);
    if (one == nullptr) break;
    if (std::ranges::find(chosen, one->uuid, &Candidate::uuid) != chosen.end()) return {};
    chosen.push_back(*one);
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  // A MIG device is alone, whatever else is selected.
  const auto mig = std::ranges::find_if(chosen, is_mig);
  return mig == chosen.end() ? targets_of(chosen) : targets_of({*mig});
}

}  // namespace tranche::sim
