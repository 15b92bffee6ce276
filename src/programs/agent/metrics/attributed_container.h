#pragma once
// One container on one device, as one reading finds it. A value.

#include <chrono>

#include "usage/node_usage.h"

namespace tranche::agent {

// A container's figures, and what only the next reading needs.
struct AttributedContainer {
  usage::ContainerFigures figures;   // without peak and estimate
  std::chrono::nanoseconds busy{0};  // of its processes since the last reading, by samples
};

}  // namespace tranche::agent
