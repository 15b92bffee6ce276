#pragma once
// What the agent writes into a ResourceSlice for the controller, in addition to NVIDIA's
// driver.

#include <string_view>

namespace tranche::cluster {

// For a whole GPU, in Mi: its memory including what its driver reserves, if that is more than the
// capacity `memory`. A quota of GPUs counts by it.
inline constexpr std::string_view kTotalMemoryAttribute = "tranche.dev/totalMemory";

}  // namespace tranche::cluster
