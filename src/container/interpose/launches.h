#pragma once
// State of launches.cpp: how much memory a graph takes when it is uploaded or launched.

namespace tranche::interpose {

// In a forked child: discards all state.
void forget_graphs();

}  // namespace tranche::interpose
