#pragma once
// What launches.cpp keeps: how much memory a graph takes when it is uploaded or launched.

namespace tranche::interpose {

// In a forked child: nothing of it is there.
void forget_graphs();

}  // namespace tranche::interpose
