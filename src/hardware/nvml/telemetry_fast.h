#pragma once
// Reads the figures of a GPU and its MIG instances that are cheap to read, on a pool thread. None
// of the calls takes more than 0.2 ms on an H200 (docs/internals/nvml-costs.md).

#include "gpu/telemetry.h"
#include "nvml/figure_calls.h"

namespace tranche::nvml {

// Fills all but reading.uuid. What call.loss() says afterwards decides whether it is of use.
void read_fast_figures(FigureCalls& call, Device device, gpu::FastReading& reading);

}  // namespace tranche::nvml
