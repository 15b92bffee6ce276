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

// Indices into `compute` of those that `kept` lacks; of equal ones the later are left over.
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
  std::vector<std::size_t> destroyed;  // of the instance as it is
  std::vector<std::size_t> created;    // of the instance as it shall be
};

// Who only adds or only takes away keeps the others. Where both happens all are made anew: a large
// one may need the place of those that would stay.
ComputeChange compute_change(const Instance& from, const Instance& to) {
  ComputeChange change{.destroyed = left_over(from.compute, to.compute),
                       .created = left_over(to.compute, from.compute)};
  if (change.destroyed.empty() || change.created.empty()) return change;
  return {.destroyed = left_over(from.compute, {}), .created = left_over(to.compute, {})};
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
  // Large ones first: what is left between small ones may be too small for a large one.
  void create_compute(const Instance& instance, std::vector<std::size_t> which) {
    std::ranges::stable_sort(which, std::greater(),
                             [&](std::size_t index) { return instance.compute[index]; });
    for (const auto index : which) add(Step::Kind::kCreateCompute, instance, index);
  }
  void create(const Instance& instance) {
    add(Step::Kind::kCreateGpuInstance, instance);
    create_compute(instance, left_over(instance.compute, {}));
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

void within_mig_mode(const GpuLayout& from, const GpuLayout& to, GpuSteps steps) {
  for (const auto& instance : from.instances) {
    if (at_same_place(to.instances, instance) == nullptr) steps.destroy(instance);
  }
  for (const auto& instance : from.instances) {
    if (const auto* wanted = at_same_place(to.instances, instance)) {
      const auto change = compute_change(instance, *wanted);
      steps.destroy_compute(instance, change.destroyed);
      steps.create_compute(*wanted, change.created);
    }
  }
  for (const auto& instance : to.instances) {
    if (at_same_place(from.instances, instance) == nullptr) steps.create(instance);
  }
}

void change_gpu(const GpuLayout& from, const GpuLayout& to, bool reset, GpuSteps steps) {
  if (from.enabled && to.enabled) return within_mig_mode(from, to, steps);
  if (from.enabled == to.enabled) return;
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
                           const std::function<bool(const gpu::GpuUuid&)>& mode_needs_reset) {
  Change change{.from = {}, .to = to, .steps = {}};
  for (const auto& [gpu, wanted] : to) {
    const auto has = from.find(gpu);
    if (has == from.end()) {
      return fail(Code::kInvalidArgument, fmt::format("it is not known what {} has", gpu.value));
    }
    if (!wanted.enabled && !wanted.instances.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} shall have instances without MIG mode", gpu.value));
    }
    change.from.insert(*has);
    const bool switched = has->second.enabled != wanted.enabled;
    change_gpu(has->second, wanted, switched && mode_needs_reset(gpu), GpuSteps(gpu, change.steps));
  }
  return change;
}

Leaving leaving(const GpuLayout& from, const GpuLayout& to) {
  if (from.enabled != to.enabled) return {.instances = from.instances, .whole_gpu = true};
  Leaving leaving;
  for (const auto& instance : from.instances) {
    const auto* wanted = at_same_place(to.instances, instance);
    if (wanted == nullptr || !compute_change(instance, *wanted).destroyed.empty()) {
      leaving.instances.push_back(instance);
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
    case Step::Kind::kSetMode:
      return fmt::format("switch MIG mode {} on GPU {}", step.enabled ? "on" : "off", gpu_index);
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
