#include <dlfcn.h>

#include <array>

#include "sim/smi/smi.h"

namespace tranche::sim::smi {
namespace {

void* library() {
  static void* const handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

constexpr unsigned long long kMib = 1ULL << 20U;

}  // namespace

void* find_function(const char* name) {
  return library() == nullptr ? nullptr : ::dlsym(library(), name);
}

std::string nvml_text(nvmlReturn_t code) {
  void* function = find_function("nvmlErrorString");
  if (function == nullptr) return "Unknown Error";
  return reinterpret_cast<const char* (*)(nvmlReturn_t)>(function)(code);  // NOLINT
}

std::optional<std::string> device_text(const char* function, nvmlDevice_t device) {
  std::array<char, 128> text = {};
  const unsigned int length = text.size();
  if (nvml(function, device, text.data(), length) != NVML_SUCCESS) return std::nullopt;
  return std::string(text.data());
}

std::optional<unsigned int> device_number(const char* function, nvmlDevice_t device) {
  unsigned int value = 0;
  if (nvml(function, device, &value) != NVML_SUCCESS) return std::nullopt;
  return value;
}

std::optional<Memory> memory_of(nvmlDevice_t device) {
  nvmlMemory_v2_t memory = {};
  memory.version = struct_version<nvmlMemory_v2_t>(2);
  if (nvml("nvmlDeviceGetMemoryInfo_v2", device, &memory) != NVML_SUCCESS) return std::nullopt;
  return Memory{memory.total / kMib, memory.used / kMib, memory.free / kMib,
                memory.reserved / kMib};
}

std::vector<nvmlProcessInfo_v2_t> processes_of(nvmlDevice_t device, const char* function) {
  std::vector<nvmlProcessInfo_v2_t> list(64);
  auto count = static_cast<unsigned int>(list.size());
  nvmlReturn_t code = nvml(function, device, &count, list.data());
  while (code == NVML_ERROR_INSUFFICIENT_SIZE) {
    list.resize(count + 16);
    count = static_cast<unsigned int>(list.size());
    code = nvml(function, device, &count, list.data());
  }
  list.resize(code == NVML_SUCCESS ? count : 0);
  return list;
}

std::string process_name(unsigned int pid) {
  std::array<char, 256> name = {};
  const unsigned int length = name.size();
  if (nvml("nvmlSystemGetProcessName", pid, name.data(), length) != NVML_SUCCESS) {
    return "[Not Found]";
  }
  return name.data();
}

std::string bus_id(nvmlDevice_t device) {
  nvmlPciInfo_t pci = {};
  if (nvml("nvmlDeviceGetPciInfo_v3", device, &pci) != NVML_SUCCESS) return "[N/A]";
  return pci.busId;
}

std::string compute_mode_name(unsigned int mode) {
  constexpr const char* kNames[] = {"Default", "Exclusive_Thread", "Prohibited",
                                    "Exclusive_Process"};
  return mode < 4 ? kNames[mode] : "[N/A]";
}

std::optional<std::pair<bool, bool>> mig_mode(nvmlDevice_t device) {
  unsigned int current = 0;
  unsigned int pending = 0;
  if (nvml("nvmlDeviceGetMigMode", device, &current, &pending) != NVML_SUCCESS) return std::nullopt;
  return std::pair{current != 0, pending != 0};
}

std::vector<nvmlDevice_t> mig_devices(nvmlDevice_t device) {
  std::vector<nvmlDevice_t> devices;
  const unsigned int most = device_number("nvmlDeviceGetMaxMigDeviceCount", device).value_or(0);
  for (unsigned int i = 0; i < most; ++i) {
    nvmlDevice_t mig = nullptr;
    if (nvml("nvmlDeviceGetMigDeviceHandleByIndex", device, i, &mig) == NVML_SUCCESS) {
      devices.push_back(mig);
    }
  }
  return devices;
}

std::optional<Failure> find_gpus(const Options& options, std::vector<GpuRow>& out) {
  unsigned int count = 0;
  nvmlReturn_t code = nvml("nvmlDeviceGetCount_v2", &count);
  if (code != NVML_SUCCESS) return Failure{nvml_text(code), code};
  for (unsigned int i = 0; i < count; ++i) {
    GpuRow row{i};
    code = nvml("nvmlDeviceGetHandleByIndex_v2", i, &row.device);
    const bool wanted =
        options.gpu.empty() || options.gpu == std::to_string(i) ||
        (code == NVML_SUCCESS && (options.gpu == bus_id(row.device) ||
                                  options.gpu == device_text("nvmlDeviceGetUUID", row.device)));
    if (!wanted) continue;
    if (code == NVML_ERROR_GPU_IS_LOST) {
      return Failure{"Unable to determine the device handle for GPU" + std::to_string(i) +
                         ": GPU is lost.  Reboot the system to recover this GPU",
                     code};
    }
    if (code != NVML_SUCCESS) {
      return Failure{"Unable to determine the device handle for GPU" + std::to_string(i) + ": " +
                         nvml_text(code),
                     code};
    }
    out.push_back(row);
  }
  if (!out.empty()) return std::nullopt;
  return Failure{options.gpu.empty() ? "No devices were found"
                                     : "No devices were found matching '" + options.gpu + "'",
                 NVML_ERROR_NOT_FOUND};
}

}  // namespace tranche::sim::smi
