// The answers of every NVML function that reports memory, processes or utilisation: a line each,
// the status and the numbers (memory in MiB). Linked with stub_driver.cpp.

#include <initializer_list>

#include "cuda_calls.h"

extern "C" {
int cuDeviceTotalMem_v2(std::size_t* total, int device);
#define QUESTION(name) int name(void* device, void* answer);
QUESTION(nvmlDeviceGetBAR1MemoryInfo)
QUESTION(nvmlDeviceGetConfComputeProtectedMemoryUsage)
QUESTION(nvmlDeviceGetUtilizationRates)
QUESTION(nvmlDeviceGetDynamicPstatesInfo)
QUESTION(nvmlDeviceGetFBCStats)
QUESTION(nvmlGpmQueryDeviceSupport)
QUESTION(nvmlGpmSampleGet)
#define ENGINE(name) int name(void* device, unsigned* percent, unsigned* period);
ENGINE(nvmlDeviceGetEncoderUtilization)
ENGINE(nvmlDeviceGetDecoderUtilization)
ENGINE(nvmlDeviceGetJpgUtilization)
ENGINE(nvmlDeviceGetOfaUtilization)
#define LIST(name) int name(void* device, unsigned* count, void* list);
LIST(nvmlDeviceGetComputeRunningProcesses_v3)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3)
LIST(nvmlDeviceGetEncoderSessions)
LIST(nvmlDeviceGetFBCSessions)
int nvmlDeviceGetProcessUtilization(void*, void*, unsigned*, unsigned long long);
int nvmlDeviceGetEncoderStats(void*, unsigned*, unsigned*, unsigned*);
int nvmlDeviceGetSamples(void*, unsigned, unsigned long long, unsigned*, unsigned*,
                         unsigned long long*);
}

namespace {

void* device = nullptr;

void memory(const char* name, int (*ask)(void*, void*)) {
  NvmlMemory told{};
  const int status = ask(device, &told);
  std::printf("%s %d %llu %llu %llu\n", name, status, told.total / kMiB, told.free / kMiB,
              told.used / kMiB);
}
template <unsigned... Numbers>
void numbers(const char* name, int (*ask)(void*, void*)) {
  unsigned told[64] = {};
  const int status = ask(device, told);
  std::printf("%s %d", name, status);
  (std::printf(" %u", told[Numbers]), ...);
  std::printf("\n");
}
void engine(const char* name, int (*ask)(void*, unsigned*, unsigned*)) {
  unsigned percent = 0;
  unsigned period = 0;
  const int status = ask(device, &percent, &period);
  if (status == 0) std::printf("%s 0 %u\n", name, percent);
  if (status != 0) std::printf("%s %d\n", name, status);
}
void length(const char* name, int (*ask)(void*, unsigned*, void*)) {
  alignas(8) static unsigned char room[4096];
  unsigned count = 16;
  const int status = ask(device, &count, room);
  std::printf("%s %d %u\n", name, status, count);
}
void samples(unsigned type) {
  unsigned value_type = 0;
  unsigned count = 3;
  unsigned long long told[6] = {};
  const int status = nvmlDeviceGetSamples(device, type, 0, &value_type, &count, told);
  std::printf("samples-%u %d", type, status);
  for (unsigned i = 0; status == 0 && i < count; ++i) std::printf(" %llu", told[2 * i + 1]);
  std::printf("\n");
}

}  // namespace

int main(int count, char**) {
  OK(nvmlInit_v2());
  OK(nvmlDeviceGetHandleByIndex_v2(0, &device));
  if (count > 1) {
    OK(cuInit(0));  // registers, if an arbiter answers
    std::size_t total = 0;
    OK(cuDeviceTotalMem_v2(&total, 0));
    std::printf("cuDeviceTotalMem 0 %zu\n", total / kMiB);
  }
#define DO(how, name) how(#name, name)
  memory("nvmlDeviceGetMemoryInfo", nvmlDeviceGetMemoryInfo);
  DO(memory, nvmlDeviceGetBAR1MemoryInfo);
  DO(memory, nvmlDeviceGetConfComputeProtectedMemoryUsage);
  numbers<0, 1>("nvmlDeviceGetUtilizationRates", nvmlDeviceGetUtilizationRates);
  numbers<1, 2, 5, 6, 9, 13>("nvmlDeviceGetDynamicPstatesInfo", nvmlDeviceGetDynamicPstatesInfo);
  numbers<0, 1, 2>("nvmlDeviceGetFBCStats", nvmlDeviceGetFBCStats);
  numbers<1>("nvmlGpmQueryDeviceSupport", nvmlGpmQueryDeviceSupport);
  numbers<0>("nvmlGpmSampleGet", nvmlGpmSampleGet);
  DO(engine, nvmlDeviceGetEncoderUtilization);
  DO(engine, nvmlDeviceGetDecoderUtilization);
  DO(engine, nvmlDeviceGetJpgUtilization);
  DO(engine, nvmlDeviceGetOfaUtilization);
  DO(length, nvmlDeviceGetComputeRunningProcesses_v3);
  DO(length, nvmlDeviceGetGraphicsRunningProcesses_v3);
  DO(length, nvmlDeviceGetEncoderSessions);
  DO(length, nvmlDeviceGetFBCSessions);
  length("nvmlDeviceGetProcessUtilization", [](void* of, unsigned* number, void* list) {
    return nvmlDeviceGetProcessUtilization(of, list, number, 0);
  });
  unsigned stats[3] = {};
  const int status = nvmlDeviceGetEncoderStats(device, &stats[0], &stats[1], &stats[2]);
  std::printf("nvmlDeviceGetEncoderStats %d %u %u %u\n", status, stats[0], stats[1], stats[2]);
  for (const unsigned type : {0U, 1U, 4U, 8U}) samples(type);
}
