#pragma once
// How large a simulated machine can be: the capacity of the shared state
// (sim/state/state.h).

#include <cstdint>

namespace tranche::sim {

inline constexpr unsigned kMaxGpus = 32;
inline constexpr unsigned kMaxModels = 8;
inline constexpr unsigned kMaxLinks = 18;
inline constexpr unsigned kMaxSwitches = 18;
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;  // no instance, every GPU, ...

}  // namespace tranche::sim
