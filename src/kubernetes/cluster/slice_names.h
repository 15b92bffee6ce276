#pragma once
// What the agent writes into a ResourceSlice and the controller reads there, beside what NVIDIA's
// driver has.

#include <string_view>

namespace tranche::cluster {

// Of a whole GPU, in Mi: what it has together with what its driver keeps for itself, where that is
// more than the capacity `memory`. A quota of GPUs counts by it.
inline constexpr std::string_view kTotalMemoryAttribute = "tranche.dev/totalMemory";

}  // namespace tranche::cluster
