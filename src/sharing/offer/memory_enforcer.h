#pragma once
// Chooses the enforcer that keeps the memory of a device's tranches apart: the strongest one that
// the device supports and the configuration asks for. Pure.

#include <span>
#include <string>

#include "config/limits.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// Why the driver cannot enforce limits of cgroups on `device`, and what to do; empty: it can.
std::string kernel_objection(const gpu::Machine& machine, const Device& device);

struct EnforcerFacts {
  bool is_own_instance = false;  // each tranche is its own GPU instance
  bool by_kernel = false;        // the driver can enforce limits on the device
  bool by_mps = false;           // it is served by an MPS server that limits its clients
};
MemoryEnforcer choose_enforcer(const config::Limits& rules, const EnforcerFacts& facts);

// "MPS and the limiter": for people.
std::string described(MemoryEnforcer enforcer);

// The weakest of `enforcers`, which holds for all of them; kLimiter if there are none.
MemoryEnforcer weakest(std::span<const MemoryEnforcer> enforcers);

}  // namespace tranche::offer
