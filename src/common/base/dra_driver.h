#pragma once
// The name of the DRA driver whose devices are GPUs, where the setting --dra-driver-name says
// nothing else. NVIDIA's DRA driver has the same, so manifests for the one serve the other.

#include <string_view>

namespace tranche {

inline constexpr std::string_view kDefaultDraDriver = "gpu.nvidia.com";

}  // namespace tranche
