#pragma once
// What a change of a layout works on.

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

// Who has a GPU or one of its instances open, for people.
struct DeviceUsers {
  std::vector<std::string> names;  // "python (pid 4711, Pod shop/train)"
  std::string unseen = {};         // why there may be more, and what to do; empty: all were seen
};

struct Hardware {
  gpu::MigControl& control;
  gpu::GpuReset& reset;
  // Of the GPUs of the layout: geometry, PCI address, index, compute capability.
  const gpu::Machine& machine;
  // Who has the GPU open, or only this GPU instance of it. Empty: nobody can tell.
  std::function<DeviceUsers(const gpu::Gpu& gpu, std::optional<int> gpu_instance)> users = {};
  // Before the mode of a GPU is touched: has this node's own programs let go of the GPUs that
  // change, for as long as the result is held. `reset`: a GPU is to be reset, which nobody may have
  // open. Empty: there are none.
  std::function<Result<std::shared_ptr<void>>(bool reset, const std::stop_token& stop)> quiet = {};
  // What the GPUs had when the change began, where that was before this call; null: what they have.
  const Layout* from = nullptr;
};

}  // namespace tranche::mig
