#pragma once
// The processes that hold one thing in the shared state: memory, or an event. Each is one claim of
// its slot, so that one that dies holds nothing any more. A Guard is held by whoever changes an
// entry.

#include <span>

#include "sim/state/simulation.h"

namespace tranche::sim {

// Whether the process that claimed `slot` so lives.
bool is_alive(const Simulation& sim, std::uint32_t slot, std::uint64_t claim);

// The entry of `slot`, the caller's. nullptr: it does not hold the thing.
Sharer* find_sharer(const Simulation& sim, std::span<Sharer> sharers, const ProcessSlot& slot);
// The one that came first of those that live.
const Sharer* first_sharer(const Simulation& sim, std::span<const Sharer> sharers);
// False: there is no free entry.
bool add_sharer(const Simulation& sim, std::span<Sharer> sharers, const ProcessSlot& slot);
// Those that died are forgotten, and who lives moves up: they stay in the order in which they came.
// How many live.
unsigned close_ranks(const Simulation& sim, std::span<Sharer> sharers);

}  // namespace tranche::sim
