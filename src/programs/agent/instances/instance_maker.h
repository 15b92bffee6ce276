#pragma once
// Makes and removes MIG instances for claims: each is a step of a change of its GPU's layout
// (mig/apply.h), in which everything else on the GPU stays. Every call reads the hardware first, so
// it can be repeated until it is done.
//
// MIG mode is switched on with a GPU's first instance and off with the last, if that needs no reset
// of the GPU; otherwise the mode is up to the operator.
//
// The caller holds the lock of the claims (ClaimStore): one change at a time on this node.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "dra/mig_place.h"
#include "gpu/machine.h"
#include "gpu/mig_control.h"
#include "mig/apply.h"
#include "mig/hardware.h"
#include "mig/layout.h"

namespace tranche::agent {

class InstanceMaker {
 public:
  struct Ports {
    gpu::MigControl& control;
    gpu::GpuReset& reset;  // not used: no mode that needs it is changed
    std::function<Result<gpu::Machine>()> read;
    // As in mig::Hardware.
    std::function<mig::DeviceUsers(const gpu::Gpu& gpu, std::optional<int> gpu_instance)> users;
    // Has this node's own programs release the GPU while its mode changes.
    std::function<Result<std::shared_ptr<void>>(const gpu::Gpu& gpu, const std::stop_token&)> quiet;
    std::function<void()> changed;  // the hardware has changed
    const Clock& clock;
    const Log& log;
  };
  // Kubelet's deadline for a call is 45 s.
  static constexpr std::chrono::seconds kLongest{30};

  explicit InstanceMaker(Ports ports, mig::Retries retries = {})
      : ports_(std::move(ports)), retries_(retries) {}

  // Whether instances can be made on the GPU now, without a reset.
  static bool can_cut(const gpu::Gpu& gpu);

  // `machine`: geometry and names of the GPUs. Errors: as mig::apply(); kNotFound: the GPU is gone.
  Result<void> make(const dra::MigPlace& place, const gpu::Machine& machine);
  // A missing instance is no error.
  Result<void> remove(const dra::MigPlace& place, const gpu::Machine& machine);
  // Switches MIG mode off, so that the GPU can be used whole. kFailedPrecondition: it has
  // instances.
  Result<void> make_whole(const gpu::GpuUuid& uuid, const gpu::Machine& machine);

  // A new reading of the hardware, and in it the UUIDs of the instances at these places, in their
  // order. kNotFound: the driver lists none there.
  struct Found {
    gpu::Machine machine;
    std::vector<std::string> uuids;
  };
  Result<Found> find(const std::vector<dra::MigPlace>& places);

  // Those of `gpus` with instances at other places than these: from a layout or a person.
  Result<std::set<gpu::GpuUuid>> cut_by_others(const std::vector<gpu::GpuUuid>& gpus,
                                               const std::vector<dra::MigPlace>& places);

 private:
  using Change = std::function<Result<void>(mig::GpuLayout&)>;
  void take_back_mode(const gpu::GpuUuid& uuid, const mig::GpuLayout& before);
  Result<void> change(const gpu::GpuUuid& uuid, const gpu::Machine& machine, const Change& change);

  const Ports ports_;
  const mig::Retries retries_;
};

}  // namespace tranche::agent
