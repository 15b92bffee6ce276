// Who runs on a device, and how busy each is.

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "sim/gpu/shared_memory.h"
#include "sim/gpu/utilisation.h"
#include "sim/nvml/library.h"

namespace tranche::sim {
namespace {

// Invisible processes (in another pid namespace) have no pid to report: they are omitted, as the
// driver does in a container's list. Several uses by one process are one entry.
std::vector<nvmlProcessInfo_v2_t> list_processes(const Device& device, UseKind kind) {
  std::vector<nvmlProcessInfo_v2_t> list;
  for (const LiveUse& live : live_uses(device.sim(), device.gpu)) {
    const Use& use = *live.use;
    if (live.pid == 0 || use.kind != static_cast<std::uint32_t>(kind)) continue;
    if (device.is_mig() && (use.gpu_instance != device.gpu_instance ||
                            use.compute_instance != device.compute_instance)) {
      continue;
    }
    const auto pid = static_cast<unsigned int>(live.pid);
    const auto same = std::ranges::find_if(list, [&](const nvmlProcessInfo_v2_t& info) {
      return info.pid == pid && info.gpuInstanceId == use.gpu_instance &&
             info.computeInstanceId == use.compute_instance;
    });
    const std::uint64_t memory = memory_of(device.sim(), live);
    if (same != list.end()) {
      same->usedGpuMemory += memory;
    } else {
      list.push_back({pid, memory, use.gpu_instance, use.compute_instance});
    }
  }
  return list;
}

void put(const nvmlProcessInfo_v2_t& info, nvmlProcessInfo_v2_t& out) { out = info; }
void put(const nvmlProcessInfo_v2_t& info, nvmlProcessInfo_v1_t& out) {
  out = {info.pid, info.usedGpuMemory};
}

template <class Info>
nvmlReturn_t give_processes(const char* function, nvmlDevice_t handle, UseKind kind,
                            unsigned int* count, Info* infos) {
  const bool arguments = given(count) && (infos != nullptr || *count == 0);
  return on_device(function, handle, arguments, [&](const Device& device) {
    const auto list = list_processes(device, kind);
    const unsigned int room = *count;
    *count = static_cast<unsigned int>(list.size());
    if (list.size() > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < list.size(); ++i) put(list[i], infos[i]);
    return NVML_SUCCESS;
  });
}

// Processes of one kind, or of all.
std::vector<nvmlProcessInfo_v2_t> list_processes(const Device& device, unsigned int mode) {
  constexpr UseKind kKinds[] = {UseKind::kCompute, UseKind::kGraphics, UseKind::kMps};
  constexpr unsigned int kAll = std::size(kKinds);
  std::vector<nvmlProcessInfo_v2_t> list;
  for (unsigned int i = 0; i < kAll; ++i) {
    if (mode != i && mode != kAll) continue;
    const auto some = list_processes(device, kKinds[i]);
    list.insert(list.end(), some.begin(), some.end());
  }
  return list;
}

// The account of a process that runs. None is kept of those that have ended, and utilisation is
// that of the last period (invented: NVIDIA's is over the process's life).
std::optional<nvmlAccountingStats_v2_t> account_of(const Device& device, unsigned int pid) {
  std::optional<nvmlAccountingStats_v2_t> account;
  for (const nvmlProcessInfo_v2_t& info : list_processes(device, UseKind::kCompute)) {
    if (info.pid != pid) continue;
    if (!account) account = {.pid = pid, .isRunning = 1};
    account->maxMemoryUsage += info.usedGpuMemory;
  }
  if (!account) return std::nullopt;
  const WindowLoad window =
      window_load(device.sim(), device.gpu, last_window(device.sim(), device.gpu));
  for (const ProcessLoad& load : window.processes) {
    if (static_cast<unsigned int>(load.pid) != pid) continue;
    account->gpuUtilization = (load.permille + 5) / 10;
    account->memoryUtilization = (load.permille / 3 + 5) / 10;
  }
  return account;
}

// What the driver's buffer holds: kMaxWindows windows, only those that ended after `last_seen_us`.
std::vector<WindowLoad> windows_since(const Device& device, unsigned long long last_seen_us) {
  std::vector<WindowLoad> windows;
  const std::uint64_t newest = last_window(device.sim(), device.gpu);
  const std::uint64_t period_us = device.model().sample_period_us;
  for (std::uint64_t index = newest - kMaxWindows + 2; index <= newest; ++index) {
    if ((index + 1) * period_us <= last_seen_us) continue;
    windows.push_back(window_load(device.sim(), device.gpu, index));
  }
  return windows;
}

unsigned int percent(std::uint32_t permille) { return (permille + 5) / 10; }

// Memory bandwidth is taken to be busy a third of the time the SMs are (invented).
unsigned int memory_percent(std::uint32_t permille) { return percent(permille / 3); }

std::vector<nvmlProcessUtilizationSample_t> process_samples(const Device& device,
                                                            unsigned long long last_seen_us) {
  std::vector<nvmlProcessUtilizationSample_t> samples;
  for (const WindowLoad& window : windows_since(device, last_seen_us)) {
    for (const ProcessLoad& load : window.processes) {
      if (load.pid == 0) continue;
      samples.push_back({.pid = static_cast<unsigned int>(load.pid),
                         .timeStamp = window.end_ns / 1000,
                         .smUtil = percent(load.permille),
                         .memUtil = memory_percent(load.permille)});
    }
  }
  return samples;
}

bool is_in_mig_mode(const Device& device) { return device.hardware().mig_current.load() != 0; }

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle,
                                                              unsigned int* count,
                                                              nvmlProcessInfo_v2_t* infos) {
  return give_processes(__func__, handle, UseKind::kCompute, count, infos);
}
NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle,
                                                              unsigned int* count,
                                                              nvmlProcessInfo_v2_t* infos) {
  return give_processes(__func__, handle, UseKind::kCompute, count, infos);
}
NVML_API nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned int* count,
                                                           nvmlProcessInfo_v1_t* infos) {
  return give_processes(__func__, handle, UseKind::kCompute, count, infos);
}

NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t handle,
                                                               unsigned int* count,
                                                               nvmlProcessInfo_v2_t* infos) {
  return give_processes(__func__, handle, UseKind::kGraphics, count, infos);
}
NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t handle,
                                                               unsigned int* count,
                                                               nvmlProcessInfo_v2_t* infos) {
  return give_processes(__func__, handle, UseKind::kGraphics, count, infos);
}
NVML_API nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t handle,
                                                            unsigned int* count,
                                                            nvmlProcessInfo_v1_t* infos) {
  return give_processes(__func__, handle, UseKind::kGraphics, count, infos);
}

NVML_API nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t handle,
                                                                 unsigned int* count,
                                                                 nvmlProcessInfo_v2_t* infos) {
  return give_processes(__func__, handle, UseKind::kMps, count, infos);
}
NVML_API nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t handle,
                                                                 unsigned int* count,
                                                                 nvmlProcessInfo_v2_t* infos) {
  return give_processes(__func__, handle, UseKind::kMps, count, infos);
}
NVML_API nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t handle,
                                                              unsigned int* count,
                                                              nvmlProcessInfo_v1_t* infos) {
  return give_processes(__func__, handle, UseKind::kMps, count, infos);
}

NVML_API nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t handle,
                                                            nvmlProcessDetailList_v1_t* details) {
  constexpr unsigned int kModes = 4;
  return on_device(__func__, handle, given(details), [&](const Device& device) {
    const bool is_known = details->version == struct_version<nvmlProcessDetailList_v1_t>(1);
    if (!is_known || details->mode >= kModes) return NVML_ERROR_INVALID_ARGUMENT;
    const auto list = list_processes(device, details->mode);
    const bool fits = details->procArray != nullptr && details->numProcArrayEntries >= list.size();
    details->numProcArrayEntries = static_cast<unsigned int>(list.size());
    if (!fits && !list.empty()) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < list.size(); ++i) {
      details->procArray[i] = {.pid = list[i].pid,
                               .usedGpuMemory = list[i].usedGpuMemory,
                               .gpuInstanceId = list[i].gpuInstanceId,
                               .computeInstanceId = list[i].computeInstanceId};
    }
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t handle, unsigned int* count,
                                                  unsigned int* pids) {
  return on_gpu(__func__, handle, given(count), [&](const Device& device) {
    const auto list = list_processes(device, UseKind::kCompute);
    const bool fits = pids != nullptr && *count >= list.size();
    *count = static_cast<unsigned int>(list.size());
    if (!fits && !list.empty()) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < list.size(); ++i) pids[i] = list[i].pid;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetAccountingStats_v2(nvmlDevice_t handle,
                                                      nvmlAccountingStats_v2_t* stats) {
  return on_gpu(__func__, handle, given(stats), [&](const Device& device) {
    const auto account = account_of(device, stats->pid);
    if (!account) return NVML_ERROR_NOT_FOUND;
    *stats = *account;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t handle, unsigned int pid,
                                                   nvmlAccountingStats_t* stats) {
  return on_gpu(__func__, handle, given(stats), [&](const Device& device) {
    const auto account = account_of(device, pid);
    if (!account) return NVML_ERROR_NOT_FOUND;
    *stats = {.gpuUtilization = account->gpuUtilization,
              .memoryUtilization = account->memoryUtilization,
              .maxMemoryUsage = account->maxMemoryUsage,
              .isRunning = account->isRunning};
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle,
                                                    nvmlUtilization_t* utilization) {
  return on_gpu(__func__, handle, given(utilization), [&](const Device& device) {
    if (is_in_mig_mode(device)) return NVML_ERROR_NOT_SUPPORTED;
    const WindowLoad load =
        window_load(device.sim(), device.gpu, last_window(device.sim(), device.gpu));
    *utilization = {percent(load.permille), memory_percent(load.permille)};
    return NVML_SUCCESS;
  });
}

// NOT_FOUND means that no process did anything since.
NVML_API nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t handle,
                                                      nvmlProcessUtilizationSample_t* samples,
                                                      unsigned int* count,
                                                      unsigned long long last_seen) {
  return on_gpu(__func__, handle, given(count), [&](const Device& device) {
    if (is_in_mig_mode(device)) return NVML_ERROR_NOT_SUPPORTED;
    const auto found = process_samples(device, last_seen);
    if (found.empty()) {
      *count = 0;
      return NVML_ERROR_NOT_FOUND;
    }
    const bool fits = samples != nullptr && *count >= found.size();
    *count = static_cast<unsigned int>(found.size());
    if (!fits) return NVML_ERROR_INSUFFICIENT_SIZE;
    std::ranges::copy(found, samples);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(
    nvmlDevice_t handle, nvmlProcessesUtilizationInfo_v1_t* info) {
  return on_gpu(__func__, handle, given(info), [&](const Device& device) {
    if (info->version != struct_version<nvmlProcessesUtilizationInfo_v1_t>(1)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (is_in_mig_mode(device)) return NVML_ERROR_NOT_SUPPORTED;
    const auto found = process_samples(device, info->lastSeenTimeStamp);
    if (found.empty()) return NVML_ERROR_NOT_FOUND;
    const bool fits = info->procUtilArray != nullptr && info->processSamplesCount >= found.size();
    info->processSamplesCount = static_cast<unsigned int>(found.size());
    if (!fits) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < found.size(); ++i) {
      info->procUtilArray[i] = {.timeStamp = found[i].timeStamp,
                                .pid = found[i].pid,
                                .smUtil = found[i].smUtil,
                                .memUtil = found[i].memUtil};
    }
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t handle, unsigned int type,
                                           unsigned long long last_seen, unsigned int* value_type,
                                           unsigned int* count, nvmlSample_t* samples) {
  constexpr unsigned int kGpu = 1;
  constexpr unsigned int kMemory = 2;
  return on_gpu(__func__, handle, given(value_type, count), [&](const Device& device) {
    if ((type != kGpu && type != kMemory) || is_in_mig_mode(device))
      return NVML_ERROR_NOT_SUPPORTED;
    const auto windows = windows_since(device, last_seen);
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (windows.empty()) return NVML_ERROR_NOT_FOUND;
    const auto room = samples == nullptr ? windows.size() : std::size_t{*count};
    const std::size_t given_out = std::min(room, windows.size());
    for (std::size_t i = 0; samples != nullptr && i < given_out; ++i) {
      samples[i].timeStamp = windows[i].end_ns / 1000;
      samples[i].sampleValue = {};
      samples[i].sampleValue.uiVal =
          type == kGpu ? percent(windows[i].permille) : memory_percent(windows[i].permille);
    }
    *count = static_cast<unsigned int>(given_out);
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
