#include "interpose/driver.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "interpose/lock.h"
#include "interpose/system.h"

namespace tranche::interpose {
namespace {

// Takes any arguments: the callers clean up, on both machines.
int not_bound() { return kNotInitialized; }

struct Binding {
  const char* symbol;
  const char* name;
  int version;
  bool twin;
  void* ours;
  void** member;
};

#define OWN(symbol, name, version, twin, parameters) \
  {#symbol,                                          \
   #name,                                            \
   version,                                          \
   twin,                                             \
   reinterpret_cast<void*>(&::symbol),               \
   reinterpret_cast<void**>(&driver.symbol)},
#define GATED(symbol, name, version, twin, stream, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define LOADS(symbol, name, version, twin, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define LATER(symbol, name, version, twin, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
const Binding kHooked[] = {
#include "interpose/symbols.def"
};
#undef OWN
#undef GATED
#undef LOADS
#undef LATER

#define USED(symbol, parameters) \
  {#symbol, nullptr, 0, false, nullptr, reinterpret_cast<void**>(&driver.symbol)},
const Binding kUsed[] = {
#include "interpose/used.def"
};
#undef USED

#define NVML(symbol, parameters)       \
  {#symbol,                            \
   nullptr,                            \
   0,                                  \
   false,                              \
   reinterpret_cast<void*>(&::symbol), \
   reinterpret_cast<void**>(&nvml.symbol)},
const Binding kNvml[] = {
#include "interpose/nvml.def"
};
#undef NVML

// Open addressing by address; written under `binding`, read by any thread: the value first.
struct Hook {
  std::atomic<void*> address;
  std::atomic<void*> ours;
};
constexpr size_t kHooks = 2048;
Hook hooks[kHooks];

// Names that are hooked, by hash: an index into kHooked and one.
constexpr size_t kNames = 512;
std::uint8_t names_made;
std::uint16_t names[kNames];

Lock binding;
std::atomic<bool> cuda_bound;
std::atomic<bool> nvml_bound;

size_t place(const void* address, size_t size) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<size_t>((bits >> 4U) * 0x9E3779B97F4A7C15ULL >> 40U) % size;
}

void remember(void* address, void* ours) {
  for (size_t i = place(address, kHooks), tries = 0; tries < kHooks;
       ++tries, i = (i + 1) % kHooks) {
    void* there = hooks[i].address.load(std::memory_order_relaxed);
    if (there == address) return;
    if (there != nullptr) continue;
    hooks[i].ours.store(ours, std::memory_order_relaxed);
    hooks[i].address.store(address, std::memory_order_release);
    return;
  }
}

// `inside`: any function of the library.
template <size_t N>
void bind(const Binding (&bindings)[N], const void* inside) {
  const char* symbols[N];
  void* found[N] = {};
  for (size_t i = 0; i < N; ++i) symbols[i] = bindings[i].symbol;
  exported_by(inside, symbols, N, found);
  for (size_t i = 0; i < N; ++i) {
    if (found[i] == nullptr) continue;
    __atomic_store_n(bindings[i].member, found[i], __ATOMIC_RELEASE);
    if (bindings[i].ours != nullptr) remember(found[i], bindings[i].ours);
  }
}

// `symbol` of the library under its own name when it is loaded already; else of what the program
// has in hand.
void* of_library(const char* name, const char* symbol, void* handle) {
  void* library = loader().dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  void* found = library != nullptr ? loader().dlsym(library, symbol) : nullptr;
  if (found == nullptr && handle != nullptr) found = loader().dlsym(handle, symbol);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 2166136261U;
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619U;
  return hash ^ hash >> 15U;
}

void make_names() {
  for (std::size_t b = 0; b < sizeof(kHooked) / sizeof(*kHooked); ++b) {
    size_t i = hash_of(kHooked[b].name) % kNames;
    while (names[i] != 0 && strcmp(kHooked[names[i] - 1].name, kHooked[b].name) != 0)
      i = (i + 1) % kNames;
    if (names[i] == 0) names[i] = static_cast<std::uint16_t>(b + 1);
  }
  names_made = 1;
}

template <class Table>
void fill(Table& table) {
  auto* members = reinterpret_cast<void**>(&table);
  for (size_t i = 0; i < sizeof(table) / sizeof(void*); ++i) {
    void* nobody = nullptr;
    __atomic_compare_exchange_n(&members[i], &nobody, reinterpret_cast<void*>(&not_bound), false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
}

}  // namespace

Driver driver;
Nvml nvml;

// For launch_amd64.S, which does not know where in the table they are.
extern "C" {
#define LAUNCHES(DO)            \
  DO(cuLaunchKernel)            \
  DO(cuLaunchKernel_ptsz)       \
  DO(cuLaunchCooperativeKernel) \
  DO(cuLaunchCooperativeKernel_ptsz) DO(cuLaunchKernelEx) DO(cuLaunchKernelEx_ptsz)
#define REAL(symbol) void* tranche_real_##symbol = reinterpret_cast<void*>(&not_bound);
LAUNCHES(REAL)
#undef REAL
}

const Loader& loader() {
  static Loader loader;
  static std::atomic<bool> is_found;
  if (!is_found.load(std::memory_order_acquire)) {
    const auto found = [](const char* name) { return of_libc(name); };
    loader.dlvsym = reinterpret_cast<decltype(loader.dlvsym)>(found("dlvsym"));
    loader.dlmopen = reinterpret_cast<decltype(loader.dlmopen)>(found("dlmopen"));
    loader.dlopen = reinterpret_cast<decltype(loader.dlopen)>(found("dlopen"));
    loader.dlerror = reinterpret_cast<decltype(loader.dlerror)>(found("dlerror"));
    loader.dlsym = reinterpret_cast<decltype(loader.dlsym)>(found("dlsym"));
    // Without libdl, which a glibc before 2.34 keeps apart, nobody could have called.
    if (loader.dlsym != nullptr) is_found.store(true, std::memory_order_release);
  }
  return loader;
}

bool is_cuda_bound() { return cuda_bound.load(std::memory_order_acquire); }

bool bind_cuda(void* handle) {
  if (is_cuda_bound()) return true;
  const Guard guard(binding);
  if (is_cuda_bound()) return true;
  fill(driver);
  if (loader().dlsym == nullptr) return false;
  const void* found = of_library("libcuda.so.1", "cuInit", handle);
  if (found == nullptr) return false;
  make_names();
  bind(kHooked, found);
  bind(kUsed, found);
#define REAL(symbol)                                                               \
  __atomic_store_n(&tranche_real_##symbol, reinterpret_cast<void*>(driver.symbol), \
                   __ATOMIC_RELEASE);
  LAUNCHES(REAL)
#undef REAL
  cuda_bound.store(true, std::memory_order_release);
  return true;
}

bool bind_nvml(void* handle) {
  if (nvml_bound.load(std::memory_order_acquire)) return true;
  const Guard guard(binding);
  if (nvml_bound.load(std::memory_order_acquire)) return true;
  fill(nvml);
  if (loader().dlsym == nullptr) return false;
  const void* found = of_library("libnvidia-ml.so.1", "nvmlDeviceGetUUID", handle);
  if (found == nullptr) return false;
  bind(kNvml, found);
  nvml.nvmlDeviceGetUUID =
      reinterpret_cast<decltype(nvml.nvmlDeviceGetUUID)>(const_cast<void*>(found));
  nvml_bound.store(true, std::memory_order_release);
  return true;
}

void* hook_of(void* address) {
  for (size_t i = place(address, kHooks), tries = 0; tries < kHooks;
       ++tries, i = (i + 1) % kHooks) {
    void* there = hooks[i].address.load(std::memory_order_acquire);
    if (there == address) return hooks[i].ours.load(std::memory_order_relaxed);
    if (there == nullptr) return nullptr;
  }
  return nullptr;
}

bool is_ours(void* address) {
  for (const Binding& b : kHooked) {
    if (b.ours == address) return true;
  }
  for (const Binding& b : kNvml) {
    if (b.ours == address) return true;
  }
  return false;
}

bool is_hooked_name(const char* name) {
  for (size_t i = hash_of(name) % kNames; names[i] != 0; i = (i + 1) % kNames) {
    if (strcmp(kHooked[names[i] - 1].name, name) == 0) return true;
  }
  return false;
}

void learn(const char* name, std::uint64_t flags) {
  const Guard guard(binding);
  for (const Binding& b : kHooked) {
    if (strcmp(b.name, name) != 0) continue;
    constexpr std::uint64_t kPerThread = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
    if (b.twin != (flags == kPerThread)) continue;
    void* address = nullptr;
    const int status = driver.cuGetProcAddress_v2(
        const_cast<char*>(name), static_cast<void*>(&address), b.version, flags, nullptr);
    if (status == kSuccess && address != nullptr && !is_ours(address)) remember(address, b.ours);
  }
}

}  // namespace tranche::interpose
