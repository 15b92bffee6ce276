#pragma once
// A round of the agent's loop, as the manager of MIG layouts reads it.

#include <memory>

#include "agent/loop/state.h"
#include "offer/offer.h"

namespace tranche::agent {

struct MigView {
  State state;                                // state.machine is set
  std::shared_ptr<const offer::Offer> offer;  // made of it

  const gpu::Machine& machine() const { return *state.machine; }
};

}  // namespace tranche::agent
