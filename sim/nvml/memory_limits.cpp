// Limits of memory that the driver keeps for a control group (r615 and later).

#include "sim/gpu/memory_limits.h"

#include <unistd.h>

#include "sim/nvml/library.h"

namespace tranche::sim {
namespace {

static_assert(kNoMemoryLimit == NVML_DEVICE_MEMORY_LIMIT_MAX);

// An older driver's library has no such function, and a GPU in MIG mode does not support the
// service.
template <class Answer>
nvmlReturn_t on_limitable(std::string_view function, nvmlDevice_t handle, bool arguments_given,
                          Answer answer) {
  return on_gpu(function, handle, arguments_given, [&](const Device& device) {
    if (!has_memory_limits(device.state())) return NVML_ERROR_FUNCTION_NOT_FOUND;
    if (device.hardware().mig_current.load() != 0) return NVML_ERROR_NOT_SUPPORTED;
    return answer(device);
  });
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceSetMemoryLimits_v1(nvmlDevice_t handle,
                                                   nvmlSetMemoryLimits_v1_t* limits) {
  const bool arguments = given(limits) && given(limits->nameSpace);
  return on_limitable(__func__, handle, arguments, [&](const Device& device) {
    if (::geteuid() != 0) return NVML_ERROR_NO_PERMISSION;
    const auto set = set_memory_limit(device.sim(), device.gpu, limits->nameSpace,
                                      limits->softLimit, limits->hardLimit);
    if (set) return NVML_SUCCESS;
    return set.error().code == Code::kNotFound ? NVML_ERROR_OPERATING_SYSTEM : to_nvml(set.error());
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetMemoryLimits_v1(nvmlDevice_t handle,
                                                   nvmlGetMemoryLimits_v1_t* limits) {
  const bool arguments = given(limits) && given(limits->nameSpace);
  return on_limitable(__func__, handle, arguments, [&](const Device& device) {
    const auto found = memory_limit(device.sim(), device.gpu, limits->nameSpace);
    if (!found) return to_nvml(found.error());
    limits->softLimit = found->soft;
    limits->hardLimit = found->hard;
    limits->currentUsed = found->used;
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
