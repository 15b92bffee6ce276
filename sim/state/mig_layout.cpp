#include "sim/state/mig_layout.h"

#include <algorithm>
#include <array>

#include "fmt/format.h"

namespace tranche::sim {
namespace {

template <class Match>
const Profile* find_profile(const Model& model, Match match) {
  const Profile* end = model.profiles + model.profile_count;
  const Profile* found = std::find_if(model.profiles, end, match);
  return found == end ? nullptr : found;
}

std::uint32_t bits(std::uint32_t start, std::uint32_t size) { return ((1U << size) - 1U) << start; }

// Decoders, encoders, jpeg, OFA.
using Engines = std::array<std::uint32_t, 4>;

Engines engines_of(const Profile& profile) {
  return {profile.decoders, profile.encoders, profile.jpeg, profile.ofa};
}

struct Occupied {
  std::uint32_t memory = 0;   // slices, as bits
  std::uint32_t compute = 0;  // slices, counted
  std::uint32_t same = 0;     // instances of the profile asked about
  Engines engines = {};

  void add(const Profile& profile) {
    compute += profile.slices;
    for (std::size_t i = 0; i < engines.size(); ++i) engines[i] += engines_of(profile)[i];
  }
};

Occupied occupied(const State& state, const Gpu& gpu, const Profile& profile) {
  Occupied sum;
  for (const GpuInstance& instance : gpu.instances) {
    if (!is_used(instance)) continue;
    const Profile& other = profile_of(state, gpu, instance);
    sum.memory |= bits(instance.start, other.size);
    sum.add(other);
    sum.same += &other == &profile ? 1 : 0;
  }
  return sum;
}

// A GPU has as many engines of a kind as its largest profile.
bool has_engines(const Model& model, const Profile& profile, const Occupied& taken) {
  const Engines wanted = engines_of(profile);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::uint32_t most = 0;
    for (std::uint32_t p = 0; p < model.profile_count; ++p) {
      most = std::max(most, engines_of(model.profiles[p])[i]);
    }
    if (taken.engines[i] + wanted[i] > most) return false;
  }
  return true;
}

std::vector<std::uint32_t> free_starts_of(const Model& model, const Profile& profile,
                                          const Occupied& taken) {
  std::vector<std::uint32_t> starts;
  if (taken.compute + profile.slices > model.compute_slices) return starts;
  if (taken.same >= profile.max_instances) return starts;
  if (!has_engines(model, profile, taken)) return starts;
  for (std::uint32_t start = 0; start < model.memory_slices; ++start) {
    if ((profile.starts >> start & 1U) == 0) continue;
    if ((taken.memory & bits(start, profile.size)) == 0) starts.push_back(start);
  }
  return starts;
}

// Ids as the driver counts them: the whole GPU is 0, its halves 1 and 2, quarters 3 to 6, and so
// on. Two instances that can exist together never share one.
std::uint32_t instance_id(const Model& model, const Profile& profile, std::uint32_t start) {
  return model.memory_slices / profile.size - 1 + start / profile.size;
}

std::uint32_t taken_compute(const GpuInstance& instance) {
  std::uint32_t taken = 0;
  for (const ComputeInstance& compute : instance.compute) {
    if (is_used(compute)) taken |= bits(compute.start, compute.slices);
  }
  return taken;
}

bool has_compute(const GpuInstance& instance) { return taken_compute(instance) != 0; }

}  // namespace

const Profile* profile_by_constant(const Model& model, std::uint32_t constant) {
  return find_profile(model, [&](const Profile& p) { return p.constant == constant; });
}

const Profile* profile_by_id(const Model& model, std::uint32_t id) {
  return find_profile(model, [&](const Profile& p) { return p.id == id; });
}

const Profile* profile_by_name(const Model& model, std::string_view name) {
  return find_profile(model, [&](const Profile& p) { return name == p.name; });
}

const Profile& profile_of(const State& state, const Gpu& gpu, const GpuInstance& instance) {
  return state.models[gpu.model].profiles[instance.profile];
}

std::vector<std::uint32_t> free_starts(const State& state, const Gpu& gpu, const Profile& profile) {
  return free_starts_of(state.models[gpu.model], profile, occupied(state, gpu, profile));
}

std::uint32_t remaining_capacity(const State& state, const Gpu& gpu, const Profile& profile) {
  const Model& model = state.models[gpu.model];
  Occupied taken = occupied(state, gpu, profile);
  std::uint32_t count = 0;
  for (auto starts = free_starts_of(model, profile, taken); !starts.empty();
       starts = free_starts_of(model, profile, taken)) {
    taken.memory |= bits(starts.front(), profile.size);
    taken.add(profile);
    taken.same += 1;
    ++count;
  }
  return count;
}

Result<std::uint32_t> create_gpu_instance(State& state, Gpu& gpu, const Profile& profile,
                                          std::optional<std::uint32_t> start) {
  const Model& model = state.models[gpu.model];
  if (gpu.mig_current.load() == 0) {
    return fail(Code::kUnsupported, fmt::format("{}: MIG mode is off", gpu.uuid),
                "turn it on: tranche-sim mig enable");
  }
  if (start && (*start >= model.memory_slices || (profile.starts >> *start & 1U) == 0)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} cannot begin at memory slice {}", profile.name, *start));
  }
  const auto starts = free_starts(state, gpu, profile);
  if (starts.empty() || (start && std::ranges::find(starts, *start) == starts.end())) {
    return fail(Code::kUnavailable, fmt::format("no room for {} on {}", profile.name, gpu.uuid),
                "destroy an instance first: tranche-sim mig destroy");
  }
  const std::uint32_t at = start.value_or(starts.back());
  const std::uint32_t id = instance_id(model, profile, at);
  GpuInstance& instance = gpu.instances[id];
  for (ComputeInstance& compute : instance.compute) compute.used.store(0);
  instance.generation += 1;
  instance.profile = static_cast<std::uint32_t>(&profile - model.profiles);
  instance.start = at;
  instance.used.store(1, std::memory_order_release);
  return id;
}

Result<std::uint32_t> create_compute_instance(State& state, Gpu& gpu, std::uint32_t gpu_instance,
                                              std::uint32_t slices,
                                              std::optional<std::uint32_t> start) {
  GpuInstance& instance = gpu.instances[gpu_instance];
  const Profile& profile = profile_of(state, gpu, instance);
  const bool size_exists =
      slices == profile.slices || slices == 1 || slices == 2 || slices == 3 || slices == 4;
  if (!size_exists || slices > profile.slices || (start && *start + slices > profile.slices)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} has no compute instance of {} slices there", profile.name, slices));
  }
  const std::uint32_t taken = taken_compute(instance);
  for (std::uint32_t at = start.value_or(0); at + slices <= profile.slices; ++at) {
    if ((taken & bits(at, slices)) == 0) {
      for (std::uint32_t id = 0; id < kMaxComputeInstances; ++id) {
        ComputeInstance& compute = instance.compute[id];
        if (is_used(compute)) continue;
        compute.generation += 1;
        compute.slices = slices;
        compute.start = at;
        compute.used.store(1, std::memory_order_release);
        return id;
      }
    }
    if (start) break;
  }
  return fail(Code::kUnavailable, fmt::format("no room for {} compute slices in GPU instance {}",
                                              slices, gpu_instance));
}

Result<void> destroy_gpu_instance(Gpu& gpu, std::uint32_t gpu_instance) {
  if (gpu_instance >= kMaxGpuInstances || !is_used(gpu.instances[gpu_instance])) {
    return fail(Code::kNotFound, fmt::format("no GPU instance {} on {}", gpu_instance, gpu.uuid));
  }
  GpuInstance& instance = gpu.instances[gpu_instance];
  if (has_compute(instance)) {
    return fail(Code::kFailedPrecondition,
                fmt::format("GPU instance {} holds compute instances", gpu_instance),
                "destroy them first");
  }
  instance.used.store(0, std::memory_order_release);
  return {};
}

}  // namespace tranche::sim
