#pragma once
// The enforcers of enforcement: what keeps the memory of a device's tranches apart. Each device has
// the highest one that it can have and that was asked for. The limiter in the container serves
// compute, priority, views and accounting on every enforcer. Pure.

#include <span>
#include <string>
#include <string_view>

#include "config/limits.h"
#include "gpu/machine.h"

namespace tranche::offer {

struct Device;

// From the highest to the lowest.
enum class MemoryEnforcer {
  kMig,      // each tranche is a MIG instance of its own
  kKernel,   // the driver, by the container's control group (r615 and later; `kernelLimits`)
  kMps,      // the MPS server, for each client
  kLimiter,  // the library in the container alone
};

// As users read it: "mig", "kernel", "mps", "limiter".
std::string_view to_string(MemoryEnforcer enforcer);

// Why the driver cannot keep limits of control groups on `device`, and what to do; empty: it can.
std::string kernel_objection(const gpu::Machine& machine, const Device& device);

struct EnforcerFacts {
  bool is_own_instance = false;  // each tranche is a MIG instance of its own
  bool by_kernel = false;        // the driver can keep limits on the device
  bool by_mps = false;           // an MPS server that limits its clients serves it
};
MemoryEnforcer choose_enforcer(const config::Limits& rules, const EnforcerFacts& facts);

// The weakest, which is what can be said of all; kLimiter of none.
MemoryEnforcer weakest(std::span<const MemoryEnforcer> enforcers);

}  // namespace tranche::offer
