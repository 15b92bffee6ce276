#pragma once
// Makes MIG instances for claims, and removes them: each is a step of a change of its GPU's layout
// (mig/apply.h), in which everything else on the GPU stays. Every call looks at the hardware first,
// so the same call again does what is left of it.
//
// MIG mode goes on with the first instance of a GPU and off with the last, where that needs no
// reset of the GPU. Where it does, the mode is the operator's.
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
    gpu::GpuReset& reset;  // not used: no mode is changed that needs one
    // The machine as it is now, with its instances.
    std::function<Result<gpu::Machine>()> read;
    // As those of mig::Hardware.
    std::function<mig::DeviceUsers(const gpu::Gpu& gpu, std::optional<int> gpu_instance)> users;
    // Has this node's own programs release the GPU while its mode changes.
    std::function<Result<std::shared_ptr<void>>(const gpu::Gpu& gpu, const std::stop_token&)> quiet;
    std::function<void()> changed;  // the hardware is another now
    const Clock& clock;
    const Log& log;
  };
  // Kubelet gives a call 45 s.
  static constexpr std::chrono::seconds kLongest{30};

  explicit InstanceMaker(Ports ports, mig::Retries retries = {})
      : ports_(std::move(ports)), retries_(retries) {}

  // Whether instances can be made on a GPU as it is, without a reset.
  static bool can_cut(const gpu::Gpu& gpu);

  // `machine`: geometry and names of the GPUs. Errors are those of mig::apply(); kNotFound, the GPU
  // is not there any more.
  Result<void> make(const dra::MigPlace& place, const gpu::Machine& machine);
  // It is no error if there is none.
  Result<void> remove(const dra::MigPlace& place, const gpu::Machine& machine);
  // Has MIG mode off, so that the GPU can be used whole. kFailedPrecondition: there are instances
  // on it.
  Result<void> make_whole(const gpu::GpuUuid& uuid, const gpu::Machine& machine);

  // A new reading of the hardware, and in it the UUIDs of the instances at these places, in their
  // order. kNotFound: the driver tells of none there.
  struct Found {
    gpu::Machine machine;
    std::vector<std::string> uuids;
  };
  Result<Found> find(const std::vector<dra::MigPlace>& places);

  // Those of `gpus` on which there is an instance at none of these places: a layout's, or a
  // person's.
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
