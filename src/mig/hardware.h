#pragma once
// What a change of a layout works on.

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu/machine.h"
#include "gpu/mig_control.h"

namespace tranche::mig {

struct Hardware {
  gpu::MigControl& control;
  gpu::GpuReset& reset;
  // Of the GPUs of the layout: geometry, PCI address, index, compute capability.
  const gpu::Machine& machine;
  // Who has the GPU open, for people: "python (pid 4711, Pod shop/train)". Empty: nobody knows.
  std::function<std::vector<std::string>(const gpu::Gpu& gpu)> holders = {};
  // Before the mode of a GPU is touched that changes at a reset only: has this node's own programs
  // let go of the driver, for as long as the result is held. Empty: there are none.
  std::function<Result<std::shared_ptr<void>>(const std::stop_token& stop)> quiet = {};
};

}  // namespace tranche::mig
