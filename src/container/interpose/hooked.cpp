#include "interpose/hooked.h"

#include <string.h>

#include <atomic>

#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/system.h"
#include "interpose/uncancelled.h"

// Where this library begins in memory: the linker's.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));

namespace tranche::interpose {
namespace {

struct Hook {
  const char* name;
  int version;
  bool twin;
  void* ours;
};

#define OWN(symbol, name, version, twin, parameters) \
  {#name, version, twin, reinterpret_cast<void*>(&::symbol)},
#define GATED(symbol, name, version, twin, stream, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define LOADS(symbol, name, version, twin, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define LATER(symbol, name, version, twin, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
// In the order of symbols.def.
const Hook kHooked[] = {
#include "interpose/symbols.def"
};
#undef OWN
#undef GATED
#undef LOADS
#undef LATER
#undef HOLDS

#define NVML(symbol, parameters) reinterpret_cast<void*>(&::symbol),
// In the order of nvml.def.
void* const kNvml[] = {
#include "interpose/nvml.def"
};
#undef NVML

// Open addressing by address; written under binding_lock(), read by any thread: the value first.
// Small, because its cost is the memory touched at a program's start: several addresses for each
// function would fit.
constexpr size_t kHooks = 1024;
std::atomic<void*> hooked_addresses[kHooks];
std::atomic<std::uint32_t> hooks[kHooks];  // the function's distance from our beginning

// Hooked names by hash: an index into kHooked plus one.
constexpr size_t kNames = 512;
std::uint16_t names[kNames];

std::atomic<bool> is_cuda_hooked;
std::atomic<bool> is_nvml_hooked;

size_t place(const void* address, size_t size) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<size_t>((bits >> 4U) * 0x9E3779B97F4A7C15ULL >> 40U) % size;
}

void remember(void* address, void* ours) {
  for (size_t i = place(address, kHooks), tries = 0; tries < kHooks;
       ++tries, i = (i + 1) % kHooks) {
    void* there = hooked_addresses[i].load(std::memory_order_relaxed);
    if (there == address) return;
    if (there != nullptr) continue;
    const auto offset = static_cast<const char*>(ours) - __ehdr_start;
    hooks[i].store(static_cast<std::uint32_t>(offset), std::memory_order_relaxed);
    hooked_addresses[i].store(address, std::memory_order_release);
    return;
  }
}

// Eight characters at a time; the last eight as they are.
std::uint32_t hash_of(const char* name) {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
  const size_t length = strlen(name);
  std::uint64_t hash = length;
  for (size_t at = 0; at < length; at += sizeof(hash)) {
    const bool is_last = at + sizeof(hash) > length;
    std::uint64_t part = 0;
    if (length < sizeof(part)) {
      for (size_t i = 0; i < length; ++i) part = part << 8U | static_cast<unsigned char>(name[i]);
    } else {
      memcpy(&part, name + (is_last ? length - sizeof(part) : at), sizeof(part));
    }
    hash = (hash ^ part) * kMix;
    hash ^= hash >> 32U;
  }
  return static_cast<std::uint32_t>(hash);
}

void make_names() {
  for (std::size_t b = 0; b < sizeof(kHooked) / sizeof(*kHooked); ++b) {
    size_t i = hash_of(kHooked[b].name) % kNames;
    while (names[i] != 0 && strcmp(kHooked[names[i] - 1].name, kHooked[b].name) != 0)
      i = (i + 1) % kNames;
    if (names[i] == 0) names[i] = static_cast<std::uint16_t>(b + 1);
  }
}

// Whether we hook the driver's function `name`, as cuGetProcAddress names it.
bool is_hooked_name(const char* name) {
  for (size_t i = hash_of(name) % kNames; names[i] != 0; i = (i + 1) % kNames) {
    if (strcmp(kHooked[names[i] - 1].name, name) == 0) return true;
  }
  return false;
}

// Asks the driver for each interface of `name` that we know, and stores the answers, which may
// differ from dlsym's.
void learn(const char* name, std::uint64_t flags) {
  const UncancelledGuard guard(binding_lock());
  for (const Hook& b : kHooked) {
    if (strcmp(b.name, name) != 0) continue;
    constexpr std::uint64_t kPerThread = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
    if (b.twin != (flags == kPerThread)) continue;
    void* address = nullptr;
    const int status = driver.cuGetProcAddress_v2(
        const_cast<char*>(name), static_cast<void*>(&address), b.version, flags, nullptr);
    if (status == kSuccess && address != nullptr && !is_ours(address)) remember(address, b.ours);
  }
}

// Replaces the result of a lookup by name, version and flags.
void swap_answer(const char* name, void** function, std::uint64_t flags) {
  if (name == nullptr || function == nullptr || *function == nullptr) return;
  void* ours = hook_of(*function);
  if (ours == nullptr && is_hooked_name(name)) {
    learn(name, flags);
    ours = hook_of(*function);
    static unsigned once;
    if (ours == nullptr)
      say("this driver has a newer interface than the limiter knows; memory taken by it is counted "
          "late",
          &once);
  }
  if (ours != nullptr) *function = ours;
}

}  // namespace

bool hook_cuda(void* handle) {
  if (is_cuda_hooked.load(std::memory_order_acquire)) return true;
  if (!bind_cuda(handle)) return false;
  const UncancelledGuard guard(binding_lock());
  if (is_cuda_hooked.load(std::memory_order_acquire)) return true;
  make_names();
  for (size_t i = 0; i < sizeof(kHooked) / sizeof(*kHooked); ++i) {
    if (void* real = cuda_symbol(i)) remember(real, kHooked[i].ours);
  }
  is_cuda_hooked.store(true, std::memory_order_release);
  return true;
}

bool hook_nvml(void* handle) {
  if (is_nvml_hooked.load(std::memory_order_acquire)) return true;
  if (!bind_nvml(handle)) return false;
  const UncancelledGuard guard(binding_lock());
  if (is_nvml_hooked.load(std::memory_order_acquire)) return true;
  for (size_t i = 0; i < sizeof(kNvml) / sizeof(*kNvml); ++i) {
    if (void* real = nvml_symbol(i)) remember(real, kNvml[i]);
  }
  is_nvml_hooked.store(true, std::memory_order_release);
  return true;
}

void* hook_of(void* address) {
  for (size_t i = place(address, kHooks), tries = 0; tries < kHooks;
       ++tries, i = (i + 1) % kHooks) {
    void* there = hooked_addresses[i].load(std::memory_order_acquire);
    if (there == nullptr) return nullptr;
    if (there == address)
      return const_cast<char*>(__ehdr_start) + hooks[i].load(std::memory_order_relaxed);
  }
  return nullptr;
}

}  // namespace tranche::interpose

using namespace tranche::interpose;

int cuGetProcAddress(void* name, void* function, int version, std::uint64_t flags) {
  if (!hook_cuda(nullptr)) return kNotInitialized;
  const int status = driver.cuGetProcAddress(name, function, version, flags);
  if (status == kSuccess)
    swap_answer(static_cast<const char*>(name), static_cast<void**>(function), flags);
  return status;
}

int cuGetProcAddress_v2(void* name, void* function, int version, std::uint64_t flags, void* found) {
  if (!hook_cuda(nullptr)) return kNotInitialized;
  const int status = driver.cuGetProcAddress_v2(name, function, version, flags, found);
  if (status == kSuccess)
    swap_answer(static_cast<const char*>(name), static_cast<void**>(function), flags);
  return status;
}
