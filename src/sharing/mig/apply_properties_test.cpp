// Random pairs of layouts on every model of the tables, with a fault at any call.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "gpu/mig_tables.h"
#include "mig/apply.h"
#include "support/fake_clock.h"
#include "support/fake_mig_control.h"

namespace tranche::mig::apply_properties_test {
namespace {

using test::MigFault;

constexpr int kGpus = 2;

gpu::GpuUuid uuid_of(int index) { return {"GPU-" + std::to_string(index)}; }

// Mostly whole ones, else parts of one slice.
std::vector<int> any_compute(const gpu::GpuInstanceProfile& profile) {
  const int parts = *rc::gen::weightedElement<int>({{6, 0}, {1, 1}, {1, 2}});
  if (parts == 0 || parts > profile.compute_slices) return {profile.compute_slices};
  return std::vector<int>(static_cast<std::size_t>(parts), 1);
}

// A possible layout: instances are tried in random order.
GpuLayout any_layout(test::FakeMigGpu gpu) {
  if (*rc::gen::inRange(0, 5) == 0) return {};
  GpuLayout layout{.enabled = true, .instances = {}};
  gpu.state = {.enabled = true, .pending = true, .instances = {}};
  const int tries = *rc::gen::inRange(0, 12);
  for (int i = 0; i < tries; ++i) {
    const auto& profile = *rc::gen::elementOf(gpu.geometry.profiles);
    const int start = *rc::gen::elementOf(profile.starts);
    if (!gpu.create(profile.id, start, 0)) continue;
    layout.instances.push_back({.profile_id = profile.id,
                                .placement = {start, profile.memory_slices},
                                .compute = any_compute(profile)});
  }
  std::ranges::sort(layout.instances, {}, &Instance::placement);
  return layout;
}

test::FakeMigGpu any_gpu() {
  std::vector<const gpu::MigModel*> models;
  for (const auto& model : gpu::mig_models()) models.push_back(&model);
  const auto& model = **rc::gen::elementOf(models);
  RC_TAG(std::string(model.key));
  return {.geometry = model.geometry,
          .mode_needs_reset = model.mode_needs_reset.value_or(false),
          .mode_resets_itself = *rc::gen::arbitrary<bool>()};
}

// A node to change from `from` to `to`.
struct Case {
  Case() {
    auto gpu = any_gpu();
    for (int index = 0; index < kGpus; ++index) {
      gpu.pci = {.bus = static_cast<std::uint32_t>(index + 1)};
      machine.gpus.push_back({.index = index,
                              .uuid = uuid_of(index),
                              .pci = gpu.pci,
                              .compute_capability = {gpu.mode_needs_reset ? 8 : 9, 0},
                              .mig_geometry = gpu.geometry});
      control.add(uuid_of(index), gpu);
      from[uuid_of(index)] = any_layout(gpu);
      to[uuid_of(index)] = any_layout(gpu);
    }
    RC_ASSERT(apply(from));
  }

  // Without retries, which could hide a dead end.
  bool apply(const Layout& layout, int tries = 1) {
    return mig::apply(layout, {control, reset, machine}, {},
                      std::chrono::steady_clock::time_point::max(), clock, {},
                      {.tries = tries, .wait = std::chrono::milliseconds(0)})
        .has_value();
  }
  // False: the process was killed.
  bool lives(const Layout& layout) {
    try {
      (void)apply(layout);
      return true;
    } catch (const test::Killed&) {
      return false;
    }
  }
  bool has(const Layout& layout) {
    for (const auto& [gpu, one] : layout) {
      if (control.state(gpu).pending != one.enabled) return false;
    }
    return *read_layout(control, {uuid_of(0), uuid_of(1)}) == layout;
  }
  const gpu::MigGeometry& geometry() const { return machine.gpus[0].mig_geometry; }
  // The number of its making of each GPU instance, by place.
  std::map<Instance, int> made(const gpu::GpuUuid& gpu) {
    std::map<Instance, int> made;
    const auto state = control.state(gpu);
    for (const auto& instance : state.instances) {
      made[{.profile_id = instance.profile_id, .placement = instance.placement}] =
          control.made(gpu, instance.id);
    }
    return made;
  }

  test::FakeMigControl control;
  test::FakeGpuReset reset{control};
  gpu::Machine machine;
  test::FakeClock clock;
  Layout from;
  Layout to;
};

RC_GTEST_PROP(ApplyProperties, ReachesTheTargetAndItsUndoRestoresTheOldLayout, ()) {
  Case one;
  RC_ASSERT(one.has(one.from));
  RC_ASSERT(one.apply(one.to));
  RC_ASSERT(one.has(one.to));
  RC_ASSERT(one.apply(one.from));
  RC_ASSERT(one.has(one.from));
}

RC_GTEST_PROP(ApplyProperties, KeepsEveryInstanceThatBothLayoutsHave, ()) {
  Case one;
  std::map<gpu::GpuUuid, std::map<Instance, int>> before;
  for (const auto& [gpu, layout] : one.from) before[gpu] = one.made(gpu);
  RC_ASSERT(one.apply(one.to));
  for (const auto& [gpu, layout] : one.to) {
    if (!layout.enabled || !one.from[gpu].enabled) continue;
    for (const auto& [place, number] : one.made(gpu)) {
      const auto was = before[gpu].find(place);
      // RC_ASSERT evaluates both sides of an ||.
      const bool stayed = was == before[gpu].end() || was->second == number;
      RC_ASSERT(stayed);
    }
  }
}

// Whoever holds a kept instance does not block a change of others.
RC_GTEST_PROP(ApplyProperties, HoldersOfKeptInstancesDoNotBlock, ()) {
  Case one;
  for (const auto& [gpu, layout] : one.to) {
    const auto state = one.control.state(gpu);
    const auto going = leaving(state, layout, one.geometry());
    if (going.whole_gpu) continue;
    for (const auto& instance : state.instances) {
      const bool goes = std::ranges::any_of(going.instances, [&](const Instance& other) {
        return other.placement == instance.placement;
      });
      if (goes) continue;
      for (const auto& compute : instance.compute) one.control.hold(gpu, instance.id, compute.id);
    }
  }
  RC_ASSERT(one.apply(one.to));
  RC_ASSERT(one.has(one.to));
}

// Compute instances in any place of one GPU instance, with more created next to them.
RC_GTEST_PROP(ApplyProperties, UnannouncedUsersKeepTheirComputeInstances, ()) {
  Case one;
  const auto gpu = uuid_of(0);
  const auto& largest = *std::ranges::max_element(one.geometry().profiles, {},
                                                  &gpu::GpuInstanceProfile::compute_slices);
  Layout to{{gpu, {.enabled = true, .instances = {}}}};
  to[gpu].instances.push_back({.profile_id = largest.id,
                               .placement = {largest.starts[0], largest.memory_slices},
                               .compute = {}});
  RC_ASSERT(one.apply(to));
  const int id = one.control.state(gpu).instances[0].id;
  const int tries = *rc::gen::inRange(1, 8);
  for (int i = 0; i < tries; ++i) {
    (void)one.control.create_compute_instance(gpu, id, *rc::gen::inRange(1, 4),
                                              *rc::gen::inRange(0, largest.compute_slices));
  }
  const auto state = one.control.state(gpu);
  int free = largest.compute_slices;
  for (const auto& compute : state.instances[0].compute) {
    free -= compute.slices;
    to[gpu].instances[0].compute.push_back(compute.slices);
  }
  while (free > 0) {
    const int slices = *rc::gen::inRange(1, std::min(free, 3) + 1);
    to[gpu].instances[0].compute.push_back(slices);
    free -= slices;
  }
  if (!leaving(state, to[gpu], one.geometry()).instances.empty()) return;
  for (const auto& compute : state.instances[0].compute) one.control.hold(gpu, id, compute.id);
  RC_ASSERT(one.apply(to));
}

RC_GTEST_PROP(ApplyProperties, WithAFaultAtAnyCallTheEndIsTheNewLayoutOrTheOldOne, ()) {
  Case one;
  const auto fault =
      *rc::gen::element(MigFault::kFails, MigFault::kFailsDone, MigFault::kTimesOut,
                        MigFault::kTimesOutDone, MigFault::kKilled, MigFault::kKilledDone);
  one.control.fault_at(*rc::gen::inRange(1, 40), fault);
  const bool lives = one.lives(one.to);
  one.control.heal();
  // A killed run is followed by one that continues, or undoes, as the journal says.
  const bool undone = lives ? !one.has(one.to) : *rc::gen::arbitrary<bool>();
  RC_ASSERT(one.apply(undone ? one.from : one.to));
  RC_ASSERT(one.has(undone ? one.from : one.to));
  for (const auto& gpu : one.machine.gpus) {
    const auto state = one.control.state(gpu.uuid);
    RC_ASSERT(state.enabled == state.pending);
  }
}

RC_GTEST_PROP(ApplyProperties, OneFaultIsNoFailureWhereItMayBeTriedAgain, ()) {
  Case one;
  const auto fault = *rc::gen::element(MigFault::kFails, MigFault::kFailsDone, MigFault::kTimesOut,
                                       MigFault::kTimesOutDone);
  one.control.fault_at(*rc::gen::inRange(1, 40), fault);
  RC_ASSERT(one.apply(one.to, 3));
  one.control.heal();
  RC_ASSERT(one.has(one.to));
}

RC_GTEST_PROP(ApplyProperties, AfterARebootInMidChangeTheNewLayoutOrTheOldOneIsMade, ()) {
  Case one;
  one.control.fault_at(*rc::gen::inRange(1, 40), MigFault::kKilledDone);
  (void)one.lives(one.to);
  one.control.heal();
  one.control.reboot();
  const auto& wanted = *rc::gen::arbitrary<bool>() ? one.from : one.to;
  RC_ASSERT(one.apply(wanted));
  RC_ASSERT(one.has(wanted));
}

}  // namespace
}  // namespace tranche::mig::apply_properties_test
