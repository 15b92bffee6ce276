#pragma once
// A node whose GPUs can be cut for claims (tests/support/fake_mig_control.h), for tests.

#include <fmt/format.h>

#include "agent/instances/instance_maker.h"
#include "gpu/mig_tables.h"
#include "support/fake_clock.h"
#include "support/fake_mig_control.h"
#include "support/log_recorder.h"
#include "support/machines.h"

namespace tranche::agent::cut_node_testing {

constexpr int k1g = 19;  // of an H100 or A100 80 GB
constexpr int k3g = 9;

struct CutNode {
  explicit CutNode(const char* model = "h100-80gb", int gpus = 2) {
    const auto* known = gpu::find_mig_model(model);
    for (int index = 0; index < gpus; ++index) {
      auto gpu =
          (known->mode_needs_reset.value_or(false) ? test::a100_80gb(index) : test::h100(index))
              .build();
      gpu.mig_geometry = known->geometry;
      control.add(gpu.uuid, {.pci = gpu.pci,
                             .geometry = gpu.mig_geometry,
                             .mode_needs_reset = known->mode_needs_reset.value_or(false)});
      machine.gpus.push_back(std::move(gpu));
    }
    machine.driver_version = "570.158.01";
  }

  gpu::Machine read() const {
    auto now = machine;
    for (auto& gpu : now.gpus) {
      const auto state = control.state(gpu.uuid);
      gpu.mig_mode = state.enabled ? gpu::MigMode::kEnabled : gpu::MigMode::kDisabled;
      for (const auto& instance : state.instances) {
        if (instance.compute.empty()) continue;
        const auto number = static_cast<int>(gpu.mig_instances.size());
        gpu.mig_instances.push_back(
            {.uuid = {fmt::format("MIG-{}-{}-{}", gpu.index, instance.id,
                                  control.made(gpu.uuid, instance.id))},
             .slot = number,
             .gpu_instance_id = instance.id,
             .compute_instance_id = instance.compute.front().id,
             .profile = {.name = gpu.mig_geometry.find(instance.profile_id)->name},
             .placement = instance.placement,
             .gpu_instance_cap = 10 * number,
             .compute_instance_cap = 10 * number + 1});
      }
    }
    return now;
  }

  InstanceMaker::Ports ports() {
    return {.control = control,
            .reset = reset,
            .read = [this]() -> Result<gpu::Machine> { return read(); },
            .users = [](const gpu::Gpu&, std::optional<int>) -> mig::DeviceUsers {
              return {.names = {"python (pid 7, Pod team/train)"}};
            },
            .quiet = [this](const gpu::Gpu& gpu,
                            const std::stop_token&) -> Result<std::shared_ptr<void>> {
              quiet.push_back(gpu.index);
              return nullptr;
            },
            .changed = [this] { ++changes; },
            .clock = clock,
            .log = log.log()};
  }
  InstanceMaker maker() { return InstanceMaker(ports(), {.tries = 1}); }

  const gpu::GpuUuid& uuid(std::size_t gpu) const { return machine.gpus[gpu].uuid; }
  dra::MigPlace place(std::size_t gpu, int profile, int start) const {
    const auto& geometry = machine.gpus[gpu].mig_geometry;
    return {uuid(gpu), profile, {start, geometry.find(profile)->memory_slices}};
  }
  // "3g.40gb, 1g.10gb"; "MIG off".
  std::string layout(std::size_t gpu) const {
    return mig::describe(mig::layout_of(control.state(uuid(gpu))), machine.gpus[gpu].mig_geometry);
  }

  test::FakeMigControl control;
  test::FakeGpuReset reset{control};
  test::FakeClock clock;
  test::LogRecorder log;
  gpu::Machine machine;
  std::vector<int> quiet;  // GPUs that were quiesced
  int changes = 0;
};

}  // namespace tranche::agent::cut_node_testing
