#pragma once
// Which enforcer keeps the memory of a device's tranches apart: the highest one that the device can
// have and that was asked for. Pure.

#include <span>
#include <string>

#include "config/limits.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

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
