// Counters: energy, repeated packets, remapped rows, throttling; and the engines for video, which
// nobody uses here.

#include "sim/gpu/sensors.h"
#include "sim/nvml/library.h"
#include "sim/state/clock.h"

namespace tranche::sim {
namespace {

// By NVML's documentation the engines' use is not told in MIG mode.
nvmlReturn_t give_idle_engine(const char* function, nvmlDevice_t handle, unsigned int* utilization,
                              unsigned int* period_us) {
  return on_gpu(function, handle, given(utilization, period_us), [&](const Device& device) {
    if (device.hardware().mig_current.load() != 0) return NVML_ERROR_NOT_SUPPORTED;
    *utilization = 0;
    *period_us = device.model().sample_period_us;
    return NVML_SUCCESS;
  });
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t handle,
                                                      unsigned int* utilization,
                                                      unsigned int* period_us) {
  return give_idle_engine(__func__, handle, utilization, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t handle,
                                                      unsigned int* utilization,
                                                      unsigned int* period_us) {
  return give_idle_engine(__func__, handle, utilization, period_us);
}

NVML_API nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t handle,
                                                          unsigned long long* energy) {
  constexpr unsigned int kVolta = 5;
  return on_gpu(__func__, handle, given(energy), [&](const Device& device) {
    if (device.model().architecture < kVolta) return NVML_ERROR_NOT_SUPPORTED;
    *energy = energy_mj(device.sim(), device.gpu);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t handle, unsigned int* value) {
  return on_gpu(__func__, handle, given(value), [&](const Device& device) {
    *value = device.hardware().pcie_replays.load();
    return NVML_SUCCESS;
  });
}

// Clocks are never lowered here.
NVML_API nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t handle, unsigned int policy,
                                                   nvmlViolationTime_t* time) {
  const bool is_policy = policy <= NVML_PERF_POLICY_TOTAL_BASE_CLOCKS;
  return on_gpu(__func__, handle, given(time) && is_policy, [&](const Device& device) {
    time->referenceTime = now_ns(device.state()) / 1000;
    time->violationTime = 0;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t handle, unsigned int* correctable,
                                                unsigned int* uncorrectable, unsigned int* pending,
                                                unsigned int* failed) {
  const bool arguments = given(correctable, uncorrectable, pending, failed);
  return on_gpu(__func__, handle, arguments, [&](const Device& device) {
    const Gpu& gpu = device.hardware();
    if (!tells_remapped_rows(device.model(), gpu)) return NVML_ERROR_NOT_SUPPORTED;
    *correctable = gpu.remapped_correctable.load();
    *uncorrectable = gpu.remapped_uncorrectable.load();
    *pending = 0;
    *failed = gpu.remap_failed.load();
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
