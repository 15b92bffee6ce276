#pragma once
// What this process holds of device memory in arrays.

#include "interpose/cuda.h"

namespace tranche::interpose {

// The context has ended, and its arrays with it: what was charged for them is given back.
void end_arrays_of(Context context);

// In a forked child: nothing of it is there.
void forget_arrays();

}  // namespace tranche::interpose
