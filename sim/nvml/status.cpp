// Modes, temperature, power, clocks, field values. Readings follow the load by simple rules: they
// are plausible, not measured.

#include <algorithm>

#include "sim/gpu/sensors.h"
#include "sim/gpu/topology.h"
#include "sim/nvml/library.h"
#include "sim/state/clock.h"

namespace tranche::sim {
namespace {

std::uint32_t load(const Device& device) { return load_permille(device.sim(), device.gpu); }

std::uint32_t power(const Device& device) { return power_mw(device.model(), load(device)); }

std::uint32_t link_count(const Device& device) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(device.hardware().links, [](const Link& link) {
        return link.remote != static_cast<std::uint32_t>(Remote::kNothing);
      }));
}

void set_number(nvmlFieldValue_t& field, std::uint32_t value) {
  field.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
  field.value.uiVal = value;
}

void set_count(nvmlFieldValue_t& field, std::uint64_t value) {
  field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
  field.value.ullVal = value;
}

// Rows, by what the GPU's calls say.
nvmlReturn_t read_rows(const Device& device, nvmlFieldValue_t& field) {
  if (!tells_remapped_rows(device.model(), device.hardware())) return NVML_ERROR_NOT_SUPPORTED;
  const Gpu& gpu = device.hardware();
  const auto& rows = field.fieldId == NVML_FI_DEV_REMAPPED_COR   ? gpu.remapped_correctable
                     : field.fieldId == NVML_FI_DEV_REMAPPED_UNC ? gpu.remapped_uncorrectable
                                                                 : gpu.remap_failed;
  set_number(field, rows.load());
  return NVML_SUCCESS;
}

nvmlReturn_t read_field(const Device& device, nvmlFieldValue_t& field) {
  switch (field.fieldId) {
    case NVML_FI_DEV_PERF_POLICY_POWER:
    case NVML_FI_DEV_PERF_POLICY_THERMAL:
      set_count(field, 0);
      field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG;
      return NVML_SUCCESS;
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
      set_count(field, energy_mj(device.sim(), device.gpu));
      return NVML_SUCCESS;
    case NVML_FI_DEV_PCIE_REPLAY_COUNTER:
      set_number(field, device.hardware().pcie_replays.load());
      return NVML_SUCCESS;
    case NVML_FI_DEV_REMAPPED_COR:
    case NVML_FI_DEV_REMAPPED_UNC:
    case NVML_FI_DEV_REMAPPED_FAILURE:
      return read_rows(device, field);
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
      set_number(field, device.hardware().recovery_action.load());
      return NVML_SUCCESS;
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
      set_number(field, power(device));
      return NVML_SUCCESS;
    case NVML_FI_DEV_MEMORY_TEMP:
      if (!has_memory_sensor(device.model())) return NVML_ERROR_NOT_SUPPORTED;
      set_number(field, memory_temperature(load(device)));
      return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
      set_number(field, link_count(device));
      return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
      if (link_count(device) == 0) return NVML_ERROR_NOT_SUPPORTED;
      set_number(field, device.model().architecture >= 10 ? 50000 : 25000);
      return NVML_SUCCESS;
    default:
      return NVML_ERROR_NOT_SUPPORTED;
  }
}

template <class Function>
nvmlReturn_t give_number(const char* function, nvmlDevice_t handle, unsigned int* out,
                         Function value) {
  return on_gpu(function, handle, given(out), [&](const Device& device) {
    *out = value(device);
    return NVML_SUCCESS;
  });
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, unsigned int* mode) {
  return give_number(__func__, handle, mode,
                     [](const Device& d) { return d.hardware().compute_mode.load(); });
}

NVML_API nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t handle, unsigned int mode) {
  constexpr unsigned int kExclusiveThread = 1;  // no longer there since CUDA 8
  constexpr unsigned int kExclusiveProcess = 3;
  const bool known = mode <= kExclusiveProcess && mode != kExclusiveThread;
  return on_gpu(__func__, handle, known, [&](const Device& device) {
    // By NVIDIA's documentation: in MIG mode it is the default one, and stays it.
    if (device.hardware().mig_current.load() != 0) return NVML_ERROR_NOT_SUPPORTED;
    device.hardware().compute_mode.store(mode);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, unsigned int* mode) {
  return give_number(__func__, handle, mode,
                     [](const Device& d) { return d.hardware().persistence.load(); });
}

NVML_API nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t handle, unsigned int mode) {
  return on_gpu(__func__, handle, mode <= 1, [&](const Device& device) {
    device.hardware().persistence.store(mode);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t handle, unsigned int sensor,
                                               unsigned int* value) {
  return on_gpu(__func__, handle, given(value) && sensor == 0, [&](const Device& device) {
    *value = gpu_temperature(load(device));
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value, power);
}
NVML_API nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value,
                     [](const Device& d) { return d.model().power_limit_mw; });
}
NVML_API nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value,
                     [](const Device& d) { return d.model().power_limit_mw; });
}

// P0 under load, P8 at rest.
NVML_API nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value,
                     [](const Device& d) { return load(d) > 0 ? 0U : 8U; });
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, unsigned int type,
                                                unsigned int* value) {
  constexpr unsigned int kMemory = 2;
  return on_gpu(__func__, handle, given(value) && type <= 3, [&](const Device& device) {
    *value = type == kMemory ? device.model().clock_memory_mhz : device.model().clock_sm_mhz;
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t handle, unsigned int type,
                                             unsigned int* value) {
  constexpr unsigned int kMemory = 2;
  return on_gpu(__func__, handle, given(value) && type <= 3, [&](const Device& device) {
    const std::uint32_t top =
        type == kMemory ? device.model().clock_memory_mhz : device.model().clock_sm_mhz;
    *value = load(device) > 0 ? top : top / 5;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t handle, unsigned int* current,
                                           unsigned int* pending) {
  return on_gpu(__func__, handle, given(current, pending), [&](const Device& device) {
    if (device.model().ecc == 0) return NVML_ERROR_NOT_SUPPORTED;
    *current = 1;
    *pending = 1;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value,
                     [](const Device& d) { return d.model().pcie_generation; });
}
NVML_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle,
                                                          unsigned int* value) {
  return give_number(__func__, handle, value,
                     [](const Device& d) { return d.model().pcie_generation; });
}
NVML_API nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value, [](const Device& d) { return d.model().pcie_width; });
}
NVML_API nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle, unsigned int* value) {
  return give_number(__func__, handle, value, [](const Device& d) { return d.model().pcie_width; });
}

// Each value carries its own verdict; the call itself succeeds.
NVML_API nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count,
                                               nvmlFieldValue_t* values) {
  return on_gpu(__func__, handle, given(values) && count > 0, [&](const Device& device) {
    for (int i = 0; i < count; ++i) {
      values[i].timestamp = static_cast<long long>(now_ns(device.state()) / 1000);
      values[i].latencyUsec = 0;
      values[i].value = {};
      values[i].nvmlReturn = read_field(device, values[i]);
    }
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
