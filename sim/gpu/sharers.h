#pragma once
// The processes that hold one item in the shared state: memory, or an event. Each entry refers to
// one use of its slot, so a dead process holds nothing any more. A Guard must be held to change an
// entry.

#include <span>

#include "sim/state/simulation.h"

namespace tranche::sim {

// Whether the process that took `slot` under this number is alive.
bool is_alive(const Simulation& sim, std::uint32_t slot, std::uint64_t claim);

// The entry of `slot`, the caller's. nullptr: it does not hold the item.
Sharer* find_sharer(const Simulation& sim, std::span<Sharer> sharers, const ProcessSlot& slot);
// The earliest live one.
const Sharer* first_sharer(const Simulation& sim, std::span<const Sharer> sharers);
// False: there is no free entry.
bool add_sharer(const Simulation& sim, std::span<Sharer> sharers, const ProcessSlot& slot);
// Removes the dead ones and moves the live ones up, in their order of arrival. Returns how many are
// alive.
unsigned close_ranks(const Simulation& sim, std::span<Sharer> sharers);

}  // namespace tranche::sim
