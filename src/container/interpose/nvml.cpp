// NVML as the container sees it: the tenant's part of the memory, and its own processes.

#include <sys/mman.h>

#include "interpose/exports.h"
#include "interpose/nvml_views.h"
#include "interpose/own_processes.h"
#include "interpose/part_file.h"

using namespace tranche::interpose;
using namespace tranche::limit;

namespace {

struct Memory {  // nvmlMemory_t, nvmlBAR1Memory_t
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2U << 24U;
struct Attributes {  // nvmlDeviceAttributes_t
  unsigned counts[8];
  unsigned long long mib;
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
struct EncoderSession {  // nvmlEncoderSessionInfo_t
  unsigned id, pid;
  unsigned about[4];
  unsigned fps, latency;
};
struct CaptureSession {  // nvmlFBCSessionInfo_t
  unsigned id, pid;
  unsigned about[8];
  unsigned fps, latency;
};
struct CaptureStats {  // nvmlFBCStats_t
  unsigned sessions, fps, latency;
};

// A GPU that shares the system's memory reports none of its own.
bool does_not_tell(int status) { return status == kNvmlNotSupported || status == kNvmlUnknown; }

bool is_of_tenant(const Part& part, unsigned pid) {
  const wire::UsageFile& usage = part.tenant->session.usage();
  const unsigned slots = wire::slots_of(usage);
  for (unsigned i = 0; i < slots; ++i) {
    const wire::Slot& slot = usage.slot[i];
    if (slot.pid.load(std::memory_order_relaxed) == pid ||
        slot.inner_pid.load(std::memory_order_relaxed) == pid)
      return true;
  }
  return false;
}

// ---- memory

constexpr unsigned kMostProcesses = 4096;  // of all containers of a device

bool is_among(const ProcessV2* processes, unsigned count, unsigned pid) {
  for (unsigned i = 0; i < count; ++i) {
    if (processes[i].pid == pid) return true;
  }
  return false;
}

// What the driver counts for this container's processes. A process may be in several lists. If the
// driver lists none, or does not report their memory, that is 0: never other containers' memory.
std::uint64_t used_by_own(void* device, const View& view) {
  const Uncancelled uncancelled;
  const Scratch scratch(kMostProcesses * sizeof(ProcessV2));
  auto* processes = scratch.as<ProcessV2>();
  if (processes == nullptr) return 0;
  unsigned kept = 0;
  std::uint64_t sum = 0;
  for (const auto list : {nvml.nvmlDeviceGetComputeRunningProcesses_v3,
                          nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3,
                          nvml.nvmlDeviceGetGraphicsRunningProcesses_v3}) {
    unsigned count = kMostProcesses - kept;
    const unsigned before = kept;
    if (list(device, &count, processes + before) != kNvmlSuccess) continue;
    for (unsigned i = before; i < before + count && i < kMostProcesses; ++i) {
      const ProcessV2 one = processes[i];
      if (is_among(processes, before, one.pid) || !is_own(view, one.pid)) continue;
      constexpr auto kUnreported = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
      if (one.used != kUnreported) sum = wire::add(sum, one.used);
      processes[kept++] = one;
    }
  }
  return sum;
}

std::uint64_t used_of(void* device, const View& view) {
  return view.part != nullptr ? view.part->ledger().held(view.part->device)
                              : used_by_own(device, view);
}

// The driver's own part is not the tenant's.
void drop_reserved(Memory&) {}
void drop_reserved(MemoryV2& info) { info.reserved = 0; }

// Replaces a device's `total`, `free`, `used` by those of the part.
template <class Info>
void show(void* device, const View& view, Info& info) {
  if (view.memory < info.total) info.total = view.memory;
  const std::uint64_t used = used_of(device, view);
  info.used = used < info.total ? used : info.total;
  info.free = info.total - info.used;
  drop_reserved(info);
}

// Replaces the memory that `ask` returns by the part's. A part is known even if the driver reports
// nothing.
template <class Info>
int tell_memory(void* device, Info* info, int (*ask)(void*, void*), bool is_known_form) {
  const int status = ask(device, info);
  const bool is_unreported = does_not_tell(status) && info != nullptr && is_known_form;
  if (status != kNvmlSuccess && !is_unreported) return status;
  const View view = view_of_handle(device);
  if (!view.is_part || view.memory == wire::kNoLimit) return status;
  if (is_unreported) info->total = view.memory;
  show(device, view, *info);
  return kNvmlSuccess;
}

// ---- processes

// Whether the driver's account of a process must be hidden from this container.
bool is_hidden(void* device, unsigned pid) {
  const View view = view_of_handle(device);
  const Uncancelled uncancelled;
  return view.is_part && !is_own(view, pid);
}

// The container's own sessions, from the list of `ask`, averaged where a mean is required.
template <class Session>
int tell_sessions(void* device, const View& view, int (*ask)(void*, void*, void*),
                  CaptureStats& stats) {
  constexpr unsigned kMost = 1024;
  const Scratch scratch(kMost * sizeof(Session));
  auto* sessions = scratch.as<Session>();
  unsigned count = kMost;
  if (sessions == nullptr || ask(device, &count, sessions) != kNvmlSuccess)
    return kNvmlNotSupported;
  count = keep_own(view, sessions, count < kMost ? count : kMost);
  stats = {count, 0, 0};
  for (unsigned i = 0; i < count; ++i) {
    stats.fps += sessions[i].fps / count;
    stats.latency += sessions[i].latency / count;
  }
  return kNvmlSuccess;
}

}  // namespace

namespace tranche::interpose {

View view_of_handle(void* device) {
  char text[96] = {};
  unsigned char uuid[16] = {};
  if (!has_tenants() || nvml.nvmlDeviceGetUUID(device, text, sizeof(text)) != kNvmlSuccess)
    return {};
  return parse_uuid(text, uuid) ? view_of_uuid(uuid) : View();
}

bool is_own(const View& view, unsigned pid) {
  return view.part != nullptr ? is_of_tenant(*view.part, pid)
                              : is_of_this_container(pid, view.folder);
}

Scratch::Scratch(size_t bytes)
    : bytes_(bytes),
      memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (memory_ == MAP_FAILED) memory_ = nullptr;
}
Scratch::~Scratch() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

}  // namespace tranche::interpose

int nvmlDeviceGetMemoryInfo(void* device, void* info) {
  return tell_memory(device, static_cast<Memory*>(info), nvml.nvmlDeviceGetMemoryInfo, true);
}

int nvmlDeviceGetMemoryInfo_v2(void* device, void* info) {
  auto* memory = static_cast<MemoryV2*>(info);
  const bool is_known_form = memory != nullptr && memory->version == kMemoryV2;
  return tell_memory(device, memory, nvml.nvmlDeviceGetMemoryInfo_v2, is_known_form);
}

int nvmlDeviceGetConfComputeProtectedMemoryUsage(void* device, void* info) {
  return tell_memory(device, static_cast<Memory*>(info),
                     nvml.nvmlDeviceGetConfComputeProtectedMemoryUsage, true);
}

// The window through which the host accesses the device's memory is not divided, and the driver
// does not report who uses how much of it, so other containers' use is not shown as this one's.
int nvmlDeviceGetBAR1MemoryInfo(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetBAR1MemoryInfo(device, info);
  const View view = status == kNvmlSuccess ? view_of_handle(device) : View();
  if (!view.is_part) return status;
  auto& window = *static_cast<Memory*>(info);
  if (view.memory < window.total) window.total = view.memory;
  window.used = 0;
  window.free = window.total;
  return status;
}

// Attributes of MIG instances.
#define ATTRIBUTES(symbol)                                                      \
  int symbol(void* device, void* attributes) {                                  \
    const int status = nvml.symbol(device, attributes);                         \
    const View view = status == kNvmlSuccess ? view_of_handle(device) : View(); \
    const std::uint64_t mib = view.memory >> 20U;                               \
    if (view.is_part && mib < static_cast<Attributes*>(attributes)->mib)        \
      static_cast<Attributes*>(attributes)->mib = mib;                          \
    return status;                                                              \
  }
ATTRIBUTES(nvmlDeviceGetAttributes)
ATTRIBUTES(nvmlDeviceGetAttributes_v2)

int nvmlDeviceGetRunningProcessDetailList(void* device, void* info) {
  const int status = nvml.nvmlDeviceGetRunningProcessDetailList(device, info);
  if (status != kNvmlSuccess) return status;
  auto& details = *static_cast<ProcessDetails*>(info);
  return keep_own<ProcessDetail>(status, device, &details.count, details.list);
}

// Accounts are also kept for processes that have ended, which then belong to no tenant.
int nvmlDeviceGetAccountingPids(void* device, void* count, void* pids) {
  return keep_own<Pid>(nvml.nvmlDeviceGetAccountingPids(device, count, pids), device, count, pids);
}

int nvmlDeviceGetAccountingStats(void* device, unsigned pid, void* stats) {
  if (is_hidden(device, pid)) return kNvmlNotFound;
  return nvml.nvmlDeviceGetAccountingStats(device, pid, stats);
}

// The structure begins with the process in question.
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
PROCESSES(nvmlDeviceGetEncoderSessions, EncoderSession)
PROCESSES(nvmlDeviceGetFBCSessions, CaptureSession)

int nvmlDeviceGetEncoderStats(void* device, void* sessions, void* fps, void* latency) {
  const int status = nvml.nvmlDeviceGetEncoderStats(device, sessions, fps, latency);
  const View view = status == kNvmlSuccess ? view_of_handle(device) : View();
  if (!view.is_part) return status;
  CaptureStats stats{};
  const int told =
      tell_sessions<EncoderSession>(device, view, nvml.nvmlDeviceGetEncoderSessions, stats);
  *static_cast<unsigned*>(sessions) = stats.sessions;
  *static_cast<unsigned*>(fps) = stats.fps;
  *static_cast<unsigned*>(latency) = stats.latency;
  return told;
}

int nvmlDeviceGetFBCStats(void* device, void* stats) {
  const int status = nvml.nvmlDeviceGetFBCStats(device, stats);
  const View view = status == kNvmlSuccess ? view_of_handle(device) : View();
  if (!view.is_part) return status;
  return tell_sessions<CaptureSession>(device, view, nvml.nvmlDeviceGetFBCSessions,
                                       *static_cast<CaptureStats*>(stats));
}
