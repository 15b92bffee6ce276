// GPM: counters of a GPU's parts, as samples; what they mean lies between two of them.
//
// The time with a kernel is the machine's. Of the parts there is no more than that: the SMs are as
// busy as the GPU, memory a third of that, no other part is ever used (invented).

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "sim/gpu/busy_time.h"
#include "sim/nvml/library.h"

namespace tranche::sim {
namespace {

struct Sample {
  std::uint32_t gpu = kNone;  // kNone: nothing was read into it
  std::uint32_t gpu_instance = kNone;
  BusyTime time;
};

// Handles are addresses, never dereferenced before they are found here.
struct Samples {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Sample>> all;
};

Samples& samples() {
  static auto& instance = *new Samples;
  return instance;
}

std::optional<Sample> find_sample(nvmlGpmSample_t handle) {
  Samples& known = samples();
  const std::scoped_lock lock(known.mutex);
  const auto found = known.all.find(handle);
  return found == known.all.end() ? std::nullopt : std::optional(*found->second);
}

bool fill(nvmlGpmSample_t handle, const Sample& sample) {
  Samples& known = samples();
  const std::scoped_lock lock(known.mutex);
  const auto found = known.all.find(handle);
  if (found == known.all.end()) return false;
  *found->second = sample;
  return true;
}

bool has_gpm(const Model& model) {
  constexpr std::uint32_t kHopper = 9;
  return model.architecture >= kHopper;
}

nvmlReturn_t take(const Device& device, std::uint32_t gpu_instance, nvmlGpmSample_t handle) {
  if (!has_gpm(device.model())) return NVML_ERROR_NOT_SUPPORTED;
  const Sample sample = {.gpu = device.gpu,
                         .gpu_instance = gpu_instance,
                         .time = busy_time(device.sim(), device.gpu, gpu_instance)};
  return fill(handle, sample) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t set_metric(nvmlGpmMetric_t& metric, double busy_percent, bool is_instance) {
  metric.metricInfo = {};
  metric.value = 0;
  switch (metric.metricId) {
    case NVML_GPM_METRIC_GRAPHICS_UTIL:
    case NVML_GPM_METRIC_SM_UTIL:
      metric.value = busy_percent;
      return NVML_SUCCESS;
    case NVML_GPM_METRIC_SM_OCCUPANCY:
    case NVML_GPM_METRIC_DRAM_BW_UTIL:
      metric.value = busy_percent / 3;
      return NVML_SUCCESS;
    case NVML_GPM_METRIC_INTEGER_UTIL:
    case NVML_GPM_METRIC_ANY_TENSOR_UTIL:
    case NVML_GPM_METRIC_FP64_UTIL:
    case NVML_GPM_METRIC_FP32_UTIL:
    case NVML_GPM_METRIC_FP16_UTIL:
      return NVML_SUCCESS;
    case NVML_GPM_METRIC_PCIE_TX_PER_SEC:
    case NVML_GPM_METRIC_PCIE_RX_PER_SEC:
    case NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC:
    case NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC:
      return is_instance ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    default:
      return NVML_ERROR_NOT_SUPPORTED;
  }
}

nvmlReturn_t compare(const Sample& first, const Sample& second, nvmlGpmMetricsGet_t& request) {
  const bool same = first.gpu == second.gpu && first.gpu_instance == second.gpu_instance;
  if (!same || second.time.until_ns <= first.time.until_ns) return NVML_ERROR_INVALID_ARGUMENT;
  const auto busy = static_cast<double>(second.time.busy_ns - first.time.busy_ns);
  const auto elapsed = static_cast<double>(second.time.until_ns - first.time.until_ns);
  for (unsigned int i = 0; i < request.numMetrics; ++i) {
    nvmlGpmMetric_t& metric = request.metrics[i];
    metric.nvmlReturn = set_metric(metric, 100 * busy / elapsed, first.gpu_instance != kNone);
  }
  return NVML_SUCCESS;
}

}  // namespace

NVML_API nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t handle, nvmlGpmSupport_t* support) {
  return on_device(__func__, handle, given(support), [&](const Device& device) {
    if (support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = has_gpm(device.model()) ? 1 : 0;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
  return on_system(__func__, given(sample), [&](const Session&) {
    auto made = std::make_unique<Sample>();
    *sample = reinterpret_cast<nvmlGpmSample_t>(made.get());  // NOLINT: see Samples
    Samples& known = samples();
    const std::scoped_lock lock(known.mutex);
    known.all.emplace(*sample, std::move(made));
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  return on_system(__func__, given(sample), [&](const Session&) {
    Samples& known = samples();
    const std::scoped_lock lock(known.mutex);
    return known.all.erase(sample) == 1 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
  });
}

// For a MIG device: of its GPU instance.
NVML_API nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t handle, nvmlGpmSample_t sample) {
  return on_device(__func__, handle, given(sample),
                   [&](const Device& device) { return take(device, device.gpu_instance, sample); });
}

NVML_API nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t handle, unsigned int gpu_instance,
                                          nvmlGpmSample_t sample) {
  return on_gpu(__func__, handle, given(sample), [&](const Device& device) {
    if (device.hardware().mig_current.load() == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (gpu_instance >= kMaxGpuInstances ||
        device.hardware().instances[gpu_instance].used.load() == 0) {
      return NVML_ERROR_INVALID_ARGUMENT;
    }
    return take(device, gpu_instance, sample);
  });
}

// A call about the GPU of the samples: its faults concern it.
NVML_API nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* request) {
  if (!given(request)) return NVML_ERROR_INVALID_ARGUMENT;
  if (request->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (request->numMetrics > NVML_GPM_METRIC_MAX) return NVML_ERROR_INVALID_ARGUMENT;
  const auto first = find_sample(request->sample1);
  const auto second = find_sample(request->sample2);
  if (!first || !second || first->gpu == kNone) return NVML_ERROR_INVALID_ARGUMENT;
  return on_gpu(__func__, gpu_handle(first->gpu), true,
                [&](const Device&) { return compare(*first, *second, *request); });
}

}  // namespace tranche::sim
