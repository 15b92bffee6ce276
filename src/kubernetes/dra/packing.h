#pragma once
// The scheduler takes the first device that fits, in the order of the ResourceSlice. With the
// fullest GPU first, the first that fits is the one with the least left over: best fit. Pure.
//
// The order follows what is prepared on the node, so it is behind by the claims that are allocated
// and not prepared yet: in a burst the scheduler goes by the order before it, as first fit does.

#include <vector>

#include "dra/pool.h"
#include "dra/prepared.h"

namespace tranche::dra {

// Puts the GPUs of the pool in order: those with the least free first, by the scarcer of memory and
// compute; of equally free ones, and of those that nobody holds, by their order in the pool. GPUs
// that have nothing left stand last, so that nobody looks at them first.
void put_fullest_first(Pool& pool, const std::vector<PreparedClaim>& prepared);

}  // namespace tranche::dra
