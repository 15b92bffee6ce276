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

// Stands for a function that the bound library lacks. Takes any arguments: the callers clean up, on
// both machines.
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
  void** member;
};

#define OWN(symbol, name, version, twin, parameters) \
  {#symbol, reinterpret_cast<void**>(&driver.symbol)},
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

#define USED(symbol, parameters) {#symbol, reinterpret_cast<void**>(&driver.symbol)},
const Binding kUsed[] = {
#include "interpose/used.def"
};
#undef USED

#define NVML(symbol, parameters) {#symbol, reinterpret_cast<void**>(&nvml.symbol)},
const Binding kNvml[] = {
#include "interpose/nvml.def"
};
#undef NVML

Lock binding;
// The bound libraries; they stay loaded.
void* cuda_library;
void* nvml_library;
std::atomic<bool> cuda_bound;
std::atomic<bool> nvml_bound;

// `inside`: any function of the library. `missing` stands for what it lacks.
template <size_t N>
void bind(const Binding (&bindings)[N], const void* inside, int (*missing)()) {
  const Object library = object_of(inside);
  for (const Binding& one : bindings) {
    void* found = symbol_of(library, one.symbol);
    void* real = found != nullptr ? found : reinterpret_cast<void*>(missing);
    __atomic_store_n(one.member, real, __ATOMIC_RELEASE);
  }
}

void* symbol_in(const Binding& one, int (*missing)()) {
  void* real = __atomic_load_n(one.member, __ATOMIC_ACQUIRE);
  return real == reinterpret_cast<void*>(missing) ? nullptr : real;
}

// `symbol` of the library under its own name if it is loaded; otherwise of the library that the
// program has a handle of, or is linked with under another name.
void* of_library(const char* name, const char* symbol, void* handle) {
  void* library = loader().dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  void* found = library != nullptr ? loader().dlsym(library, symbol) : nullptr;
  if (found == nullptr && handle != nullptr) found = loader().dlsym(handle, symbol);
  if (found == nullptr) found = loader().dlsym(RTLD_NEXT, symbol);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

// The library that contains the address; from now on it stays loaded, because a program may close
// its own handle. nullptr: the loader does not say.
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
  if (library == nullptr) return found;
  void* bound = loader().dlsym(library, name);
  return bound != nullptr && bound != found && is_of_copy(found, bound) ? bound : found;
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

// For launch_amd64.S, which does not know their places in the table.
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

Lock& binding_lock() { return binding; }

void forget_driver() { binding.reset(); }

bool bind_cuda(void* handle) {
  if (is_cuda_bound()) return true;
  const UncancelledGuard guard(binding);
  if (is_cuda_bound()) return true;
  if (loader().dlsym == nullptr) return false;
  const void* found = of_library("libcuda.so.1", "cuInit", handle);
  if (found == nullptr) return false;
  cuda_library = keep_loaded(found);
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

void* cuda_symbol(size_t i) { return symbol_in(kHooked[i], no_such_function); }

void* nvml_symbol(size_t i) { return symbol_in(kNvml[i], no_such_nvml_function); }

void* cuda_function(void* found, const char* name) {
  return function_of(cuda_library, found, name);
}

void* nvml_function(void* found, const char* name) {
  return function_of(nvml_library, found, name);
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

}  // namespace tranche::interpose
