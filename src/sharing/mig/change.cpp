#include "mig/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tranche::mig {
namespace {

bool same_place(const Instance& a, const Instance& b) {
  return a.profile_id == b.profile_id && a.placement == b.placement;
}

const Instance* at_same_place(const std::vector<Instance>& among, const Instance& one) {
  const auto found =
      std::ranges::find_if(among, [&](const Instance& other) { return same_place(other, one); });
  return found == among.end() ? nullptr : &*found;
}

// Indices into `compute` of those that `kept` lacks; of equal ones the last.
std::vector<std::size_t> left_over(const std::vector<int>& compute, std::vector<int> kept) {
  std::vector<std::size_t> over;
  for (std::size_t i = 0; i < compute.size(); ++i) {
    const auto found = std::ranges::find(kept, compute[i]);
    if (found == kept.end()) {
      over.push_back(i);
    } else {
      kept.erase(found);
    }
  }
  return over;
}

struct ComputeChange {
  std::vector<std::size_t> destroyed;  // in the present instance
  std::vector<std::size_t> created;    // in the wanted instance
};

// Only additions or only removals leave the others as they are. If both are needed, all are
// recreated: a large one may need the place of others.
ComputeChange compute_change(const Instance& from, const Instance& to, bool crowded = false) {
  ComputeChange change{.destroyed = left_over(from.compute, to.compute),
                       .created = left_over(to.compute, from.compute)};
  const bool same = change.destroyed.empty() && change.created.empty();
  const bool both = !change.destroyed.empty() && !change.created.empty();
  if (same || (!both && !crowded)) return change;
  return {.destroyed = left_over(from.compute, {}), .created = left_over(to.compute, {})};
}

// Where compute instances may begin, as far as known without the driver: anywhere, or at multiples
// of a power of two, as NVIDIA's tools list them.
enum class ComputeStarts { kAny, kAligned };

bool may_begin(ComputeStarts starts, int start, int slices) {
  if (starts == ComputeStarts::kAny) return true;
  int step = 1;
  while (step < slices) step *= 2;
  return start % step == 0;
}

// Whether each of them, largest first, finds room next to `present`, in the order that StepTaker
// uses.
bool has_room(std::vector<gpu::ComputeInstance> present, const std::vector<int>& added, int whole,
              ComputeStarts starts) {
  return std::ranges::all_of(added, [&](int slices) {
    for (int start = 0; start + slices <= whole; ++start) {
      if (!may_begin(starts, start, slices) || !is_free(present, start, slices)) continue;
      present.push_back({.slices = slices, .start = start});
      return true;
    }
    return false;
  });
}

// Whether existing compute instances are removed, or may have to make room for a larger one.
bool made_anew(const gpu::GpuInstance& from, const Instance& to, const gpu::MigGeometry& geometry) {
  const auto change = compute_change(instance_of(from), to);
  if (!change.destroyed.empty()) return true;
  std::vector<int> added;
  for (const auto index : change.created) added.push_back(to.compute[index]);
  std::ranges::sort(added, std::greater());
  const int whole = compute_slices_of(geometry, from.profile_id);
  return !from.compute.empty() && (!has_room(from.compute, added, whole, ComputeStarts::kAny) ||
                                   !has_room(from.compute, added, whole, ComputeStarts::kAligned));
}

// Adds the steps of one GPU.
class GpuSteps {
 public:
  GpuSteps(const gpu::GpuUuid& gpu, std::vector<Step>& steps) : gpu_(gpu), steps_(steps) {}

  void destroy_compute(const Instance& instance, const std::vector<std::size_t>& which) {
    for (const auto index : which) add(Step::Kind::kDestroyCompute, instance, index);
  }
  void destroy(const Instance& instance) {
    destroy_compute(instance, left_over(instance.compute, {}));
    add(Step::Kind::kDestroyGpuInstance, instance);
  }
  // Large ones first: gaps between small ones may be too small for them.
  void create_compute(const Instance& instance, std::vector<std::size_t> which) {
    std::ranges::stable_sort(which, std::greater(),
                             [&](std::size_t index) { return instance.compute[index]; });
    for (const auto index : which) add(Step::Kind::kCreateCompute, instance, index);
  }
  void create(const Instance& instance) {
    add(Step::Kind::kCreateGpuInstance, instance);
    create_compute(instance, left_over(instance.compute, {}));
  }
  // Sets the mode for the next reset; the one in force stays.
  void set_mode_to_come(bool enabled) {
    steps_.push_back({.kind = Step::Kind::kSetModeToCome, .gpu = gpu_, .enabled = enabled});
  }
  void set_mode(bool enabled, bool reset) {
    steps_.push_back({.kind = Step::Kind::kSetMode, .gpu = gpu_, .enabled = enabled});
    if (reset) steps_.push_back({.kind = Step::Kind::kReset, .gpu = gpu_, .enabled = enabled});
  }

 private:
  void add(Step::Kind kind, const Instance& instance, std::size_t compute = 0) {
    steps_.push_back({.kind = kind, .gpu = gpu_, .instance = instance, .compute = compute});
  }

  const gpu::GpuUuid& gpu_;
  std::vector<Step>& steps_;
};

void within_mig_mode(const GpuLayout& from, const GpuLayout& to,
                     const std::function<bool(const Instance&)>& is_crowded, GpuSteps steps) {
  for (const auto& instance : from.instances) {
    if (at_same_place(to.instances, instance) == nullptr) steps.destroy(instance);
  }
  for (const auto& instance : from.instances) {
    if (const auto* wanted = at_same_place(to.instances, instance)) {
      const auto change = compute_change(instance, *wanted, is_crowded(instance));
      steps.destroy_compute(instance, change.destroyed);
      steps.create_compute(*wanted, change.created);
    }
  }
  for (const auto& instance : to.instances) {
    if (at_same_place(from.instances, instance) == nullptr) steps.create(instance);
  }
}

void switch_mode(const GpuLayout& from, const GpuLayout& to, bool reset, GpuSteps steps) {
  for (const auto& instance : from.instances) steps.destroy(instance);
  steps.set_mode(to.enabled, reset);
  for (const auto& instance : to.instances) steps.create(instance);
}

std::string name_of(const Instance& instance, const gpu::MigGeometry& geometry) {
  const auto* profile = geometry.find(instance.profile_id);
  return profile == nullptr ? fmt::format("profile {}", instance.profile_id) : profile->name;
}

}  // namespace

Result<Change> make_change(const Layout& from, const Layout& to,
                           const std::function<bool(const gpu::GpuUuid&)>& mode_needs_reset,
                           const Crowded& crowded) {
  Change change{.from = {}, .to = to, .steps = {}};
  for (const auto& [gpu, asked] : to) {
    const auto has = from.find(gpu);
    if (has == from.end()) {
      return fail(Code::kInvalidArgument, fmt::format("it is not known what {} has", gpu.value));
    }
    if (!asked.enabled && !asked.instances.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} shall have instances without MIG mode", gpu.value));
    }
    change.from.insert(*has);
    const auto wanted = as_it_can_be(asked, has->second);
    GpuSteps steps(gpu, change.steps);
    if (has->second.enabled != wanted.enabled) {
      switch_mode(has->second, wanted, mode_needs_reset(gpu), steps);
    } else {
      if (has->second.waits != wanted.waits) steps.set_mode_to_come(wanted.mode_to_come());
      const auto is_crowded = [&](const Instance& instance) {
        return crowded.contains({gpu, instance.placement});
      };
      within_mig_mode(has->second, wanted, is_crowded, steps);
    }
  }
  return change;
}

Leaving leaving(const gpu::MigState& from, const GpuLayout& to, const gpu::MigGeometry& geometry) {
  const auto now = layout_of(from);
  if (now.enabled != to.enabled) return {.instances = now.instances, .whole_gpu = true};
  Leaving leaving;
  for (std::size_t i = 0; i < now.instances.size(); ++i) {
    const auto* wanted = at_same_place(to.instances, now.instances[i]);
    if (wanted == nullptr || made_anew(from.instances[i], *wanted, geometry)) {
      leaving.instances.push_back(now.instances[i]);
    }
  }
  return leaving;
}

std::string describe(const Step& step, const gpu::MigGeometry& geometry, int gpu_index) {
  const auto instance = [&] {
    return fmt::format("{} at {} of GPU {}", name_of(step.instance, geometry),
                       step.instance.placement.start, gpu_index);
  };
  const auto slices = [&] {
    return step.compute < step.instance.compute.size() ? step.instance.compute[step.compute] : 0;
  };
  switch (step.kind) {
    case Step::Kind::kDestroyCompute:
      return fmt::format("destroy a compute instance ({}c) in {}", slices(), instance());
    case Step::Kind::kDestroyGpuInstance:
      return "destroy " + instance();
    case Step::Kind::kSetModeToCome:
      return fmt::format("set MIG mode {} for the next reset: GPU {}", step.enabled ? "on" : "off",
                         gpu_index);
    case Step::Kind::kSetMode:
      return fmt::format("turn MIG mode {}: GPU {}", step.enabled ? "on" : "off", gpu_index);
    case Step::Kind::kReset:
      return fmt::format("reset GPU {}", gpu_index);
    case Step::Kind::kCreateGpuInstance:
      return "create " + instance();
    case Step::Kind::kCreateCompute:
      return fmt::format("create a compute instance ({}c) in {}", slices(), instance());
  }
  return "an unknown step";
}

}  // namespace tranche::mig
