/* The least that is taken for an NVML: one GPU, nvmlInitWithFlags in place of nvmlInit_v2, only the
 * second version of the memory call, only the first of the CUDA version's, no words for errors,
 * nothing else. What a foreign stand-in or a very old driver may look like (nvml_driver_test.cpp).
 */

#include <stddef.h>
#include <string.h>

typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} Memory;

static int gpu;

int nvmlInitWithFlags(unsigned flags) { return flags == 0 ? 0 : 2; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpu;
  return index == 0 ? 0 : 2;
}
int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = 11040;
  return 0;
}
static int put(const char* text, char* out, unsigned size) {
  if (strlen(text) + 1 > size) return 7;
  strcpy(out, text);
  return 0;
}
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  return device == &gpu ? put("Tesla K80", name, size) : 2;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  return device == &gpu ? put("GPU-stub", uuid, size) : 2;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, Memory* memory) {
  if (device != &gpu || memory->version != (sizeof(Memory) | 2U << 24)) return 25;
  memory->total = 11441ULL << 20;
  return 0;
}
