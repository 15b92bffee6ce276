#include "interpose/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <atomic>

#include "interpose/elf_symbols.h"
#include "interpose/uncancelled.h"

// Where this library begins in memory: the linker's.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));

namespace tranche::interpose {
namespace {

constexpr int kNvmlUninitialized = 1;
constexpr int kNvmlFunctionNotFound = 13;

// For a function that the bound library does not have. Takes any arguments: the callers clean up,
// on both machines.
int no_such_function() { return kNotInitialized; }
int no_such_nvml_function() { return kNvmlFunctionNotFound; }

// The initial content of a table until the library is bound. A program linked with the driver makes
// no lookups, so its first call may be of any function.
template <auto Member, class Function>
struct FirstCall;
template <class... A, int (*Driver::*Member)(A...)>
struct FirstCall<Member, int (*)(A...)> {
  static int call(A... arguments) {
    bind_cuda(nullptr);
    const auto real = __atomic_load_n(&(driver.*Member), __ATOMIC_ACQUIRE);
    return real == &call ? kNotInitialized : real(arguments...);
  }
};
template <class... A, int (*Nvml::*Member)(A...)>
struct FirstCall<Member, int (*)(A...)> {
  static int call(A... arguments) {
    bind_nvml(nullptr);
    const auto real = __atomic_load_n(&(nvml.*Member), __ATOMIC_ACQUIRE);
    return real == &call ? kNvmlUninitialized : real(arguments...);
  }
};
#define FIRST_CALL(Table, symbol) (&FirstCall<&Table::symbol, decltype(Table::symbol)>::call)

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
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
const Binding kHooked[] = {
#include "interpose/symbols.def"
};
#undef OWN
#undef GATED
#undef LOADS
#undef LATER
#undef HOLDS

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

// Open addressing by address; written under `binding`, read by any thread: the value first. Small,
// because touching it is part of a program's start: several addresses of each function would fit.
constexpr size_t kHooks = 1024;
std::atomic<void*> hooked_addresses[kHooks];
std::atomic<std::uint32_t> hooks[kHooks];  // how far behind our beginning the function is

// Names that are hooked, by hash: an index into kHooked and one.
constexpr size_t kNames = 512;
std::uint8_t names_made;
std::uint16_t names[kNames];

Lock binding;
// The bound libraries; they stay loaded.
void* cuda_library;
void* nvml_library;
std::atomic<bool> cuda_bound;
std::atomic<bool> nvml_bound;

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

// `inside`: any function of the library. `missing` is used for functions that it lacks.
template <size_t N>
void bind(const Binding (&bindings)[N], const void* inside, int (*missing)()) {
  const Object library = object_of(inside);
  for (const Binding& one : bindings) {
    void* found = symbol_of(library, one.symbol);
    void* real = found != nullptr ? found : reinterpret_cast<void*>(missing);
    __atomic_store_n(one.member, real, __ATOMIC_RELEASE);
    if (found != nullptr && one.ours != nullptr) remember(found, one.ours);
  }
}

// `symbol` of the library under its own name if it is already loaded; else from the program's
// handle, or from the library it is linked with under another name.
void* of_library(const char* name, const char* symbol, void* handle) {
  void* library = loader().dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  void* found = library != nullptr ? loader().dlsym(library, symbol) : nullptr;
  if (found == nullptr && handle != nullptr) found = loader().dlsym(handle, symbol);
  if (found == nullptr) found = loader().dlsym(RTLD_NEXT, symbol);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

// The library that the address is in, which from now on is not unloaded: a program may close its
// own handle. nullptr: the loader does not tell.
void* keep_loaded(const void* inside) {
  const char* file = file_of(inside);
  if (file == nullptr) return nullptr;
  return loader().dlopen(file, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE);
}

bool is_of_copy(const void* found, const void* bound) {
  Dl_info one{};
  Dl_info other{};
  return loader().dladdr(found, &one) != 0 && loader().dladdr(bound, &other) != 0 &&
         one.dli_fbase != other.dli_fbase && has_same_soname(one.dli_fbase, other.dli_fbase);
}

void* function_of(void* library, void* found, const char* name) {
  if (library == nullptr || hook_of(found) != nullptr) return found;
  void* bound = loader().dlsym(library, name);
  return bound != nullptr && bound != found && is_of_copy(found, bound) ? bound : found;
}

// Eight characters at a time, the last eight of a name as they are.
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
  names_made = 1;
}

}  // namespace

#define OWN(symbol, name, version, twin, parameters) .symbol = FIRST_CALL(Driver, symbol),
#define GATED(symbol, name, version, twin, stream, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define LOADS(symbol, name, version, twin, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define LATER(symbol, name, version, twin, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) \
  OWN(symbol, name, version, twin, parameters)
#define USED(symbol, parameters) .symbol = FIRST_CALL(Driver, symbol),
constinit Driver driver{
#include "interpose/symbols.def"
#include "interpose/used.def"
};
#undef OWN
#undef GATED
#undef LOADS
#undef LATER
#undef HOLDS
#undef USED
#define NVML(symbol, parameters) .symbol = FIRST_CALL(Nvml, symbol),
constinit Nvml nvml{
#include "interpose/nvml.def"
    .nvmlDeviceGetUUID = FIRST_CALL(Nvml, nvmlDeviceGetUUID)};
#undef NVML

// For launch_amd64.S, which does not know where in the table they are.
extern "C" {
#define LAUNCHES(DO)            \
  DO(cuLaunchKernel)            \
  DO(cuLaunchKernel_ptsz)       \
  DO(cuLaunchCooperativeKernel) \
  DO(cuLaunchCooperativeKernel_ptsz) DO(cuLaunchKernelEx) DO(cuLaunchKernelEx_ptsz)
#define REAL(symbol) \
  void* tranche_real_##symbol = reinterpret_cast<void*>(FIRST_CALL(Driver, symbol));
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
    loader.dladdr = reinterpret_cast<decltype(loader.dladdr)>(found("dladdr"));
    loader.dlsym = reinterpret_cast<decltype(loader.dlsym)>(found("dlsym"));
    // Without libdl, which is separate before glibc 2.34, no caller could have called.
    if (loader.dlsym != nullptr) is_found.store(true, std::memory_order_release);
  }
  return loader;
}

bool is_cuda_bound() { return cuda_bound.load(std::memory_order_acquire); }

void forget_driver() { binding.reset(); }

bool bind_cuda(void* handle) {
  if (is_cuda_bound()) return true;
  const UncancelledGuard guard(binding);
  if (is_cuda_bound()) return true;
  if (loader().dlsym == nullptr) return false;
  const void* found = of_library("libcuda.so.1", "cuInit", handle);
  if (found == nullptr) return false;
  cuda_library = keep_loaded(found);
  make_names();
  bind(kHooked, found, no_such_function);
  bind(kUsed, found, no_such_function);
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
  const UncancelledGuard guard(binding);
  if (nvml_bound.load(std::memory_order_acquire)) return true;
  if (loader().dlsym == nullptr) return false;
  const void* found = of_library("libnvidia-ml.so.1", "nvmlDeviceGetUUID", handle);
  if (found == nullptr) return false;
  nvml_library = keep_loaded(found);
  bind(kNvml, found, no_such_nvml_function);
  nvml.nvmlDeviceGetUUID =
      reinterpret_cast<decltype(nvml.nvmlDeviceGetUUID)>(const_cast<void*>(found));
  nvml_bound.store(true, std::memory_order_release);
  return true;
}

void* cuda_function(void* found, const char* name) {
  return function_of(cuda_library, found, name);
}

void* nvml_function(void* found, const char* name) {
  return function_of(nvml_library, found, name);
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

bool is_ours(void* address) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(__ehdr_start);
  const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(__ehdr_start + header->e_phoff);
  const auto at = static_cast<std::uintptr_t>(static_cast<const char*>(address) - __ehdr_start);
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const ElfW(Phdr)& part = parts[i];
    const bool is_code = part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0;
    if (is_code && at - part.p_vaddr < part.p_memsz) return true;
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
  const UncancelledGuard guard(binding);
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
