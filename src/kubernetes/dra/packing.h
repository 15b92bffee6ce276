#pragma once
// The scheduler takes the first device that fits, in the order of the ResourceSlice. With the
// fullest GPU first, the first that fits is the one with the least left over: best fit. Pure.
//
// The order is based on what is prepared on the node, so it lags by the claims that are allocated
// but not prepared yet: in a burst the scheduler uses the previous order, like first fit.

#include <vector>

#include "dra/pool.h"
#include "dra/prepared.h"

namespace tranche::dra {

// Sorts the GPUs of the pool: those with the least free first, by the scarcer of memory and
// compute; equally free and unused ones in their order in the pool. GPUs with nothing left come
// last, so that they are not considered first.
void put_fullest_first(Pool& pool, const std::vector<PreparedClaim>& prepared);

}  // namespace tranche::dra
