#pragma once
// The size of the /dev/shm of MPS' containers: half of the machine's memory, as NVIDIA's
// mps-control-daemon mounts it.

#include <string>
#include <string_view>

namespace tranche::mps {

// The `size=` of the tmpfs, from the text of /proc/meminfo ("MemTotal: 24684100 kB"): "12342050k".
// "65536k" if the text cannot be read.
std::string shm_size(std::string_view meminfo);

}  // namespace tranche::mps
