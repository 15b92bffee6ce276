// NVML as the container sees it: the tenant's part of the memory, and its own processes.

#include <string.h>

#include "interpose/driver.h"
#include "interpose/tenants.h"

using namespace tranche::interpose;
using namespace tranche::limit;

namespace {

constexpr int kNvmlSuccess = 0;
constexpr int kNvmlNotFound = 6;

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ProcessV1 {
  unsigned pid;
  unsigned long long used;
};
struct ProcessV2 {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct ProcessDetail {  // nvmlProcessDetail_v1_t
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
  unsigned long long used_protected;
};
struct ProcessDetails {  // nvmlProcessDetailList_v1_t
  unsigned version;
  unsigned mode;
  unsigned count;
  ProcessDetail* list;
};
struct Pid {  // of nvmlDeviceGetAccountingPids
  unsigned pid;
};
struct Sample {  // nvmlProcessUtilizationSample_t
  unsigned pid;
  unsigned long long time;
  unsigned percents[4];
};
struct SampleV2 {  // nvmlProcessUtilizationInfo_v1_t
  unsigned long long time;
  unsigned pid;
  unsigned percents[6];
};
struct Samples {  // nvmlProcessesUtilizationInfo_v1_t
  unsigned version;
  unsigned count;
  unsigned long long since;
  SampleV2* list;
};

// The 16 bytes of "GPU-00112233-4455-...".
bool parse_uuid(const char* text, unsigned char* bytes) {
  const char* at = strchr(text, '-');
  unsigned digits = 0;
  for (at = at != nullptr ? at + 1 : ""; *at != 0 && digits < 32; ++at) {
    if (*at == '-') continue;
    const char lower = static_cast<char>(*at | 0x20);
    const int value = *at >= '0' && *at <= '9'       ? *at - '0'
                      : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                     : -1;
    if (value < 0) return false;
    unsigned char& byte = bytes[digits / 2];
    byte = static_cast<unsigned char>(digits % 2 == 0 ? value << 4 : byte | value);
    ++digits;
  }
  return digits == 32;
}

const Part* part_of(void* device) {
  char text[96] = {};
  unsigned char uuid[16] = {};
  if (!has_tenants() || nvml.nvmlDeviceGetUUID(device, text, sizeof(text)) != kNvmlSuccess)
    return nullptr;
  if (!parse_uuid(text, uuid)) return nullptr;
  join(false);
  const Part& part = part_of_uuid(uuid);
  return part.rule == Part::Rule::kTenant && part.tenant->is_limited() ? &part : nullptr;
}

// `total`, `free`, `used` of a device as they stand, made those of the part.
template <class Info>
void show(const Part& part, Info& info) {
  const std::uint64_t view = part.policy().memory_view.load(std::memory_order_relaxed);
  if (view >= info.total) return;
  const std::uint64_t held = part.ledger().held(part.device);
  info.total = view;
  info.used = held < view ? held : view;
  info.free = view - info.used;
}

bool is_of_tenant(const Part& part, unsigned pid) {
  const wire::UsageFile& usage = part.tenant->session.usage();
  const std::uint32_t slots = usage.slots.load(std::memory_order_acquire);
  for (unsigned i = 0; i < slots && i < wire::kMaxProcesses; ++i) {
    const wire::Slot& slot = usage.slot[i];
    if (slot.pid.load(std::memory_order_relaxed) == pid ||
        slot.inner_pid.load(std::memory_order_relaxed) == pid)
      return true;
  }
  return false;
}

// Lists hold the processes of every tenant of the device; a container is shown its own.
template <class Process>
int keep_own(int status, void* device, void* count, void* list) {
  if (status != kNvmlSuccess || count == nullptr || list == nullptr) return status;
  const Part* part = part_of(device);
  if (part == nullptr) return status;
  auto* processes = static_cast<Process*>(list);
  auto& length = *static_cast<unsigned*>(count);
  unsigned kept = 0;
  for (unsigned i = 0; i < length; ++i) {
    if (is_of_tenant(*part, processes[i].pid)) processes[kept++] = processes[i];
  }
  length = kept;
  return status;
}

// Whether the driver's account of a process is not this container's to see.
bool is_hidden(void* device, unsigned pid) {
  const Part* part = part_of(device);
  return part != nullptr && !is_of_tenant(*part, pid);
}

// As the driver has it where nobody did anything.
int nothing_is_not_found(int status, unsigned count) {
  return status == kNvmlSuccess && count == 0 ? kNvmlNotFound : status;
}

}  // namespace

int nvmlDeviceGetMemoryInfo(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetMemoryInfo(device, info);
  const Part* part = status == kNvmlSuccess ? part_of(device) : nullptr;
  if (part != nullptr) show(*part, *static_cast<Memory*>(info));
  return status;
}

int nvmlDeviceGetMemoryInfo_v2(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetMemoryInfo_v2(device, info);
  const Part* part = status == kNvmlSuccess ? part_of(device) : nullptr;
  if (part == nullptr) return status;
  auto& memory = *static_cast<MemoryV2*>(info);
  const unsigned long long before = memory.total;
  show(*part, memory);
  if (memory.total != before) memory.reserved = 0;  // the driver's own part is not the tenant's
  return status;
}

int nvmlDeviceGetProcessUtilization(void* device, void* list, void* count, std::uint64_t since) {
  const int status = keep_own<Sample>(
      nvml.nvmlDeviceGetProcessUtilization(device, list, count, since), device, count, list);
  return count == nullptr ? status : nothing_is_not_found(status, *static_cast<unsigned*>(count));
}

int nvmlDeviceGetProcessesUtilizationInfo(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetProcessesUtilizationInfo(device, info);
  if (status != kNvmlSuccess) return status;
  auto& samples = *static_cast<Samples*>(info);
  keep_own<SampleV2>(status, device, &samples.count, samples.list);
  return nothing_is_not_found(status, samples.count);
}

int nvmlDeviceGetRunningProcessDetailList(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetRunningProcessDetailList(device, info);
  if (status != kNvmlSuccess) return status;
  auto& details = *static_cast<ProcessDetails*>(info);
  return keep_own<ProcessDetail>(status, device, &details.count, details.list);
}

// Accounts are kept of processes that have ended too, which are nobody's by then.
int nvmlDeviceGetAccountingPids(void* device, void* count, void* pids) {
  return keep_own<Pid>(nvml.nvmlDeviceGetAccountingPids(device, count, pids), device, count, pids);
}

int nvmlDeviceGetAccountingStats(void* device, unsigned pid, void* stats) {
  if (is_hidden(device, pid)) return kNvmlNotFound;
  return nvml.nvmlDeviceGetAccountingStats(device, pid, stats);
}

// The structure begins with the process that is asked about.
int nvmlDeviceGetAccountingStats_v2(void* device, void* stats) {
  if (stats != nullptr && is_hidden(device, *static_cast<unsigned*>(stats))) return kNvmlNotFound;
  return nvml.nvmlDeviceGetAccountingStats_v2(device, stats);
}

#define PROCESSES(symbol, Process)                                                   \
  int symbol(void* device, void* count, void* list) {                                \
    return keep_own<Process>(nvml.symbol(device, count, list), device, count, list); \
  }
PROCESSES(nvmlDeviceGetComputeRunningProcesses, ProcessV1)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, ProcessV2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, ProcessV2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, ProcessV1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, ProcessV2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, ProcessV2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, ProcessV1)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, ProcessV2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, ProcessV2)
