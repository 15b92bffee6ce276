#pragma once
// The device memory that this process holds in arrays.

#include "interpose/cuda.h"

namespace tranche::interpose {

// The context has ended, and its arrays with it: releases their charges.
void end_arrays_of(Context context);

// In a forked child: discards all state.
void forget_arrays();

}  // namespace tranche::interpose
