#pragma once
// A forked child has no driver until it makes one, no registration and no thread of ours:
// everything is as if it had just started.

namespace tranche::interpose {

// From now on. Once; later calls do nothing.
void watch_for_forks();

}  // namespace tranche::interpose
