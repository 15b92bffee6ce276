#pragma once
// How busy a GPU is.
//
// Utilisation comes in samples, as on hardware: wall-clock time is divided into windows of the
// model's sample period, and only complete windows in the past are reported. A process's time in a
// window is what it recorded there (kernels), plus its declared load. If all together want more
// than the GPU has, each gets its part, as with time-slicing. MIG instances do not share.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "sim/state/simulation.h"

namespace tranche::sim {

struct ProcessLoad {
  pid_t pid = 0;
  std::uint32_t permille = 0;
};
struct WindowLoad {
  std::uint64_t end_ns = 0;            // wall clock at the end of the window
  std::uint32_t permille = 0;          // of the window with at least one kernel on the GPU
  std::vector<ProcessLoad> processes;  // those above 0
};
// The load of GPU `gpu` in window `index` (wall clock / sample period).
WindowLoad window_load(const Simulation& sim, std::uint32_t gpu, std::uint64_t index);
// The newest complete window. Brings the GPU's time up to date first.
std::uint64_t last_window(const Simulation& sim, std::uint32_t gpu);

}  // namespace tranche::sim
