#include "sim/cuda/library.h"

#include "sim/state/faults.h"

namespace tranche::sim::cuda::detail {

Driver* entered() { return driver(); }

CUresult still_client(Driver& driver) {
  return driver.mps.is_client() ? driver.mps.state() : CUDA_SUCCESS;
}

// Under MPS a fatal fault strikes all clients on the GPU.
static void report(Driver& driver, std::uint32_t gpu, CUresult error) {
  for (const auto& device : driver.devices) {
    if (device->target.gpu == gpu) return driver.mps.report_fault(device->target, error);
  }
}

CUresult meet(Driver& driver, const char* function, std::uint32_t gpu) {
  if (Executor::is_in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  if (const CUresult ended = still_client(driver); ended != CUDA_SUCCESS) return ended;
  const State& state = driver.state();
  if (const auto fault = meet_faults(*driver.sim, function, gpu); fault != 0) {
    const auto error = static_cast<CUresult>(fault);
    if (driver.mps.is_client() && is_fatal(error)) report(driver, gpu, error);
    return error;
  }
  if (gpu == kNone) return CUDA_SUCCESS;
  const auto presence = static_cast<Presence>(state.gpus[gpu].presence.load());
  // Fell off the bus: no call about it works any more.
  return presence == Presence::kPresent ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace tranche::sim::cuda::detail
