// A driver that takes next to nothing of a thread's stack, for one device with two containers, so a
// call's need is the limiter's. It is libcuda and libnvidia-ml in one. Its processes are the caller
// and the one in STUB_NEIGHBOUR; each uses 100 MiB and 10 % of every engine.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {
constexpr unsigned long long kMiB = 1ULL << 20U;
constexpr unsigned char kUuid[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned instances[2];
};
struct Sample {
  unsigned pid;
  unsigned long long time;
  unsigned percents[4];
};
struct Session {
  unsigned id, pid, about[4], fps, latency;
};
struct Capture {
  unsigned id, pid, about[8], fps, latency;
};

template <class Entry, class Fill>
int list(unsigned* count, Entry* entries, Fill fill) {
  const char* neighbour = std::getenv("STUB_NEIGHBOUR");
  const unsigned pids[] = {static_cast<unsigned>(getpid()),
                           neighbour != nullptr ? static_cast<unsigned>(std::atoi(neighbour)) : 0};
  const unsigned there = pids[1] != 0 ? 2 : 1;
  if (*count < there || entries == nullptr) {
    *count = there;
    return 7;
  }
  *count = there;
  for (unsigned i = 0; i < there; ++i) {
    entries[i] = {};
    entries[i].pid = pids[i];
    fill(entries[i]);
  }
  return 0;
}
int percent(unsigned* value, unsigned* period) {
  *value = 20;
  if (period != nullptr) *period = 1000;
  return 0;
}
void* const kDevice = reinterpret_cast<void*>(0x10);
}  // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGetUuid_v2(void* uuid, int) { return std::memcpy(uuid, kUuid, 16), 0; }
int cuDeviceTotalMem_v2(std::size_t* total, int) { return *total = 8192 * kMiB, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = kDevice, 0; }
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  return *flags = 0, *active = 0, 0;
}
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxGetCurrent(void** context) { return *context = kDevice, 0; }
int cuCtxPushCurrent_v2(void*) { return 0; }
int cuCtxPopCurrent_v2(void** context) { return *context = kDevice, 0; }
int cuCtxGetDevice(int* device) { return *device = 0, 0; }
int cuCtxSynchronize() { return 0; }
int cuThreadExchangeStreamCaptureMode(int*) { return 0; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return *free = 8000 * kMiB, *total = 8192 * kMiB, 0;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t) { return *address = 1ULL << 40U, 0; }
int cuMemFree_v2(std::uint64_t) { return 0; }
int cuModuleLoadData(void** module, const void*) { return *module = kDevice, 0; }
int cuModuleGetFunction(void** function, void*, const char*) { return *function = kDevice, 0; }
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**) {
  return 0;
}
int cuStreamIsCapturing(void*, int* state) { return *state = 0, 0; }
int cuStreamCreate(void** stream, unsigned) { return *stream = kDevice, 0; }
int cuStreamQuery(void*) { return 0; }
int cuEventCreate(void** event, unsigned) { return *event = kDevice, 0; }
int cuEventRecord(void*, void*) { return 0; }
int cuEventQuery(void*) { return 0; }
int cuEventElapsedTime(float* ms, void*, void*) { return *ms = 0.01F, 0; }
int cuEventDestroy_v2(void*) { return 0; }

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 1, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) { return *device = kDevice, 0; }
int nvmlDeviceGetUUID(void*, char* text, unsigned) {
  return std::strcpy(text, "GPU-00112233-4455-6677-8899-aabbccddeeff"), 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  return *memory = {8192 * kMiB, 7000 * kMiB, 1192 * kMiB}, 0;
}
int nvmlDeviceGetBAR1MemoryInfo(void*, Memory* memory) {
  return *memory = {8192 * kMiB, 8000 * kMiB, 192 * kMiB}, 0;
}
int nvmlDeviceGetConfComputeProtectedMemoryUsage(void*, Memory* memory) {
  return *memory = {8192 * kMiB, 7000 * kMiB, 1192 * kMiB}, 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  return list(count, processes, [](Process& one) { one.used = 100 * kMiB; });
}
// The same ones: they compute and draw.
int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  return list(count, processes, [](Process& one) { one.used = 100 * kMiB; });
}
int nvmlDeviceGetProcessUtilization(void*, Sample* samples, unsigned* count, unsigned long long) {
  return list(count, samples, [](Sample& one) {
    one.time = 5'000'000;
    for (unsigned& percent : one.percents) percent = 10;
  });
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) { return rates[0] = rates[1] = 20, 0; }
int nvmlDeviceGetEncoderUtilization(void*, unsigned* value, unsigned* period) {
  return percent(value, period);
}
int nvmlDeviceGetDecoderUtilization(void*, unsigned* value, unsigned* period) {
  return percent(value, period);
}
int nvmlDeviceGetJpgUtilization(void*, unsigned* value, unsigned* period) {
  return percent(value, period);
}
int nvmlDeviceGetOfaUtilization(void*, unsigned* value, unsigned* period) {
  return percent(value, period);
}
int nvmlDeviceGetDynamicPstatesInfo(void*, unsigned* info) {
  std::memset(info, 0, 33 * sizeof(*info));
  for (unsigned i = 0; i < 4; ++i) info[1 + 4 * i] = 1, info[2 + 4 * i] = 20;
  return 0;
}
// Three samples: before any of the processes', with them, and long after.
int nvmlDeviceGetSamples(void*, unsigned, unsigned long long, unsigned* type, unsigned* count,
                         unsigned long long* samples) {
  *type = 1;
  *count = 3;
  for (unsigned i = 0; samples != nullptr && i < 3; ++i) {
    samples[2 * i] = (1 + 4 * i) * 1'000'000ULL + (i == 2 ? 1'000'000 : 0);
    samples[2 * i + 1] = 20;
  }
  return 0;
}
int nvmlDeviceGetEncoderSessions(void*, unsigned* count, Session* sessions) {
  return list(count, sessions, [](Session& one) { one.fps = 30, one.latency = 5; });
}
int nvmlDeviceGetEncoderStats(void*, unsigned* sessions, unsigned* fps, unsigned* latency) {
  return *sessions = 2, *fps = 30, *latency = 5, 0;
}
int nvmlDeviceGetFBCSessions(void*, unsigned* count, Capture* sessions) {
  return list(count, sessions, [](Capture& one) { one.fps = 60, one.latency = 7; });
}
int nvmlDeviceGetFBCStats(void*, unsigned* stats) {
  return stats[0] = 2, stats[1] = 60, stats[2] = 7, 0;
}
int nvmlGpmQueryDeviceSupport(void*, unsigned* support) { return support[1] = 1, 0; }
int nvmlGpmSampleGet(void*, void*) { return 0; }
}
