#pragma once
// The hardware that a layout change works on.

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu/machine.h"
#include "gpu/mig_control.h"
#include "mig/layout.h"

namespace tranche::mig {

// The users of a GPU or one of its instances, for people.
struct DeviceUsers {
  std::vector<std::string> names;  // "python (pid 4711, Pod shop/train)"
  std::string unseen = {};         // why there may be more, and what to do; empty: all were seen
};

struct Hardware {
  gpu::MigControl& control;
  gpu::GpuReset& reset;
  // Describes the GPUs of the layout: geometry, PCI address, index, compute capability.
  const gpu::Machine& machine;
  // The users of the GPU, or only of this GPU instance. Empty: cannot be determined.
  std::function<DeviceUsers(const gpu::Gpu& gpu, std::optional<int> gpu_instance)> users = {};
  // Called before the mode of a GPU is touched: makes this node's other programs release the GPUs
  // that change, for as long as the result is held. `reset`: a GPU will be reset, so nothing may
  // have it open. Empty: there are no such programs.
  std::function<Result<std::shared_ptr<void>>(bool reset, const std::stop_token& stop)> quiet = {};
  // The GPUs' layout when the change began, if it began before this call; null: their current one.
  const Layout* from = nullptr;
};

}  // namespace tranche::mig
