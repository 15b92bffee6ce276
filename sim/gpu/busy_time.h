#pragma once
// How long a GPU or GPU instance was busy since the driver was loaded: what counters of energy and
// activity are made of.
//
// Kernels count exactly, also those of processes that have ended (Turns::busy_ns). A declared load
// (tranche-sim occupy) counts while its process lives; what it did between the last reading and
// its end is lost. The account is brought forward by whoever reads it, under the machine's lock,
// and published by one store: a process killed at any instruction leaves either the old or the new
// one. Thread-safe. The caller must not hold a Guard.

#include <cstdint>

#include "sim/state/simulation.h"

namespace tranche::sim {

struct BusyTime {
  std::uint64_t until_ns = 0;  // wall clock
  std::uint64_t busy_ns = 0;   // with at least one kernel; instances of a GPU add up to at most it
};
// `gpu_instance` kNone: the whole GPU. A GPU instance's account begins with its first reading, and
// goes on in a later instance with the same id.
BusyTime busy_time(const Simulation& sim, std::uint32_t gpu, std::uint32_t gpu_instance = kNone);

}  // namespace tranche::sim
