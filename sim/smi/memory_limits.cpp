// nvidia-smi memory-limits: what control groups may hold of a GPU's memory (driver r615 and later).

#include "fmt/format.h"
#include "sim/machine/read_number.h"
#include "sim/smi/smi.h"

namespace tranche::sim::smi {
namespace {

std::string in_mib(unsigned long long bytes) {
  return bytes == NVML_DEVICE_MEMORY_LIMIT_MAX ? "max" : fmt::format("{} MiB", bytes >> 20U);
}

// "max" or MiB, in bytes.
std::optional<unsigned long long> bytes_of(const std::string& text) {
  if (text == "max") return NVML_DEVICE_MEMORY_LIMIT_MAX;
  const auto mib = read_number<unsigned long long>(text);
  if (!mib || *mib > 1ULL << 40U) return std::nullopt;
  return *mib << 20U;
}

int say(nvmlReturn_t result, const GpuRow& row) {
  if (result == NVML_SUCCESS) return 0;
  fmt::print("GPU {}: {}\n", bus_id(row.device), nvml_text(result));
  return result;
}

}  // namespace

int print_memory_limits(const MemoryLimitWish& wish, const std::vector<GpuRow>& rows) {
  for (const GpuRow& row : rows) {
    nvmlGetMemoryLimits_v1_t limits = {wish.cgroup.c_str(), 0, 0, 0};
    const auto result = nvml("nvmlDeviceGetMemoryLimits_v1", row.device, &limits);
    if (const int code = say(result, row); code != 0) return code;
    fmt::print("namespace: {}\nsoft limit: {}\nhard limit: {}\ncurrent used: {}\n", wish.cgroup,
               in_mib(limits.softLimit), in_mib(limits.hardLimit), in_mib(limits.currentUsed));
  }
  return 0;
}

int set_memory_limits(const MemoryLimitWish& wish, const std::vector<GpuRow>& rows) {
  const auto soft = bytes_of(wish.soft.empty() ? "0" : wish.soft);
  const auto hard = bytes_of(wish.hard.empty() ? "max" : wish.hard);
  if (!soft || !hard) {
    fmt::print("Invalid limit: MiB, or max.\n");
    return 1;
  }
  for (const GpuRow& row : rows) {
    nvmlSetMemoryLimits_v1_t limits = {wish.cgroup.c_str(), *soft, *hard};
    const auto result = nvml("nvmlDeviceSetMemoryLimits_v1", row.device, &limits);
    if (const int code = say(result, row); code != 0) return code;
  }
  return 0;
}

}  // namespace tranche::sim::smi
