#pragma once
// Files of the source tree that travel inside the program (embedded.cpp.in, filled by CMake), so
// that the demo runs from anywhere and needs no input.

#include <string_view>

namespace tranche::demo {

// The published ConfigMap, tests/data/scenarios/rollout/time-slicing-config.yaml.
extern const std::string_view kTimeSlicingConfig;
// Simulated machines, sim/machines/.
extern const std::string_view kL20Machine;
extern const std::string_view kT4Machine;

}  // namespace tranche::demo
