#pragma once
// Reads the figures of a GPU and its MIG instances that are dear to read, on a pool thread: some
// milliseconds on an H200 (docs/internals/nvml-costs.md).

#include <memory>

#include "gpu/telemetry.h"
#include "nvml/figure_calls.h"
#include "nvml/gpm.h"

namespace tranche::nvml {

// Fills all but reading.uuid. What call.loss() says afterwards decides whether it is of use.
// `tracker` is of this GPU and of `session`.
void read_slow_figures(FigureCalls& call, const std::shared_ptr<Session>& session, Device device,
                       GpmTracker& tracker, gpu::SlowReading& reading);

}  // namespace tranche::nvml
