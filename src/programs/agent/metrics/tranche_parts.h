#pragma once
// What part of the hardware a tranche is, and in which way, as metrics tell it. Pure.

#include <string>
#include <vector>

#include "gpu/machine.h"
#include "holdings/holdings.h"
#include "metrics/node_figures.h"
#include "offer/offer.h"

namespace tranche::agent {

// A device of the machine, which outlives it.
struct DevicePlace {
  const gpu::Gpu* gpu = nullptr;
  const gpu::MigInstance* instance = nullptr;  // null: the GPU itself
};

usage::Mechanism mechanism_of(const holdings::Holding& holding, bool is_instance);
// The part of a physical GPU that the holding is: 0.25 of one of four replicas, 2/7 of an instance
// 2g; of a claim's share its memory, or else its time.
double gpus_of(const holdings::Holding& holding, const DevicePlace& place,
               const offer::Offer& offer);
// By resource of the offer. Claims draw on devices, not on its tranches.
std::vector<usage::TrancheCount> count_tranches(const offer::Offer& offer,
                                                const holdings::Holdings& held);

}  // namespace tranche::agent
