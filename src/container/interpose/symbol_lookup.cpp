#include "interpose/symbol_lookup.h"

#include <dlfcn.h>
#include <link.h>

#include "interpose/driver.h"
#include "interpose/hooked.h"
#include "interpose/keep_errno.h"
#include "interpose/text.h"

using namespace tranche::interpose;

extern "C" {
void* tranche_real_dlsym;
void* tranche_real_dlvsym;
void* tranche_real_dlmopen;
// trampolines.S
void* tranche_dlsym(void*, const char*);
void* tranche_dlvsym(void*, const char*, const char*);
void* tranche_dlmopen(long, const char*, int);
}

namespace {

bool find_loader() {
  const Loader& real = loader();
  tranche_real_dlvsym = reinterpret_cast<void*>(real.dlvsym);
  tranche_real_dlmopen = reinterpret_cast<void*>(real.dlmopen);
  __atomic_store_n(&tranche_real_dlsym, reinterpret_cast<void*>(real.dlsym), __ATOMIC_RELEASE);
  return real.dlsym != nullptr;
}

bool is_cuda(const char* name) { return name[0] == 'c' && name[1] == 'u'; }
bool is_nvml(const char* name) {
  return name[0] == 'n' && name[1] == 'v' && name[2] == 'm' && name[3] == 'l';
}

void* own_symbol(const char* name) {
  if (is_same(name, "dlsym")) return reinterpret_cast<void*>(&tranche_dlsym);
  if (is_same(name, "dlvsym")) return reinterpret_cast<void*>(&tranche_dlvsym);
  if (is_same(name, "dlmopen")) return reinterpret_cast<void*>(&tranche_dlmopen);
  return nullptr;
}

// `found`: the result of a search that may have found our own function, because we precede every
// other library. Returns the next one after us, or the loaded driver's.
void* past_us(void* found, const char* name, const char* library) {
  if (found != nullptr && !is_ours(found)) return found;
  found = loader().dlsym(RTLD_NEXT, name);
  if (found != nullptr && !is_ours(found)) return found;
  void* driver_library = loader().dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  // Nothing is invented: without the driver this fails, and dlerror() says so.
  return loader().dlsym(driver_library != nullptr ? driver_library : RTLD_NEXT, name);
}

void* swap(void* handle, const char* name, void* found) {
  const bool of_cuda = is_cuda(name);
  const bool is_search = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  void* real =
      past_us(is_search ? nullptr : found, name, of_cuda ? "libcuda.so.1" : "libnvidia-ml.so.1");
  if (real == nullptr) return nullptr;
  void* own_handle = is_search ? nullptr : handle;
  const bool is_bound = of_cuda ? hook_cuda(own_handle) : hook_nvml(own_handle);
  void* ours = is_bound ? hook_of(real) : nullptr;
  if (is_bound && ours == nullptr) {
    real = of_cuda ? cuda_function(real, name) : nvml_function(real, name);
    ours = hook_of(real);
  }
  loader().dlerror();  // searches in between are not the program's failures
  return ours != nullptr ? ours : real;
}

}  // namespace

int tranche_is_our_symbol(const char* name) {
  if (__atomic_load_n(&tranche_real_dlsym, __ATOMIC_ACQUIRE) == nullptr) find_loader();
  if (name == nullptr) return 0;
  if (name[0] == 'd') return name[1] == 'l' && own_symbol(name) != nullptr ? 1 : 0;
  return is_cuda(name) || is_nvml(name) ? 1 : 0;
}

int tranche_is_our_file(const char* file) {
  if (__atomic_load_n(&tranche_real_dlsym, __ATOMIC_ACQUIRE) == nullptr) find_loader();
  if (file == nullptr) return 0;
  const char* name = file_name(file);
  return begins_with(name, "libcuda.so") || begins_with(name, "libnvidia-ml.so") ? 1 : 0;
}

void* tranche_lookup_dlsym(void* handle, const char* name) {
  void* found = loader().dlsym(handle, name);
  const KeepErrno keep_errno;
  if (void* hook = own_symbol(name)) return found != nullptr ? hook : nullptr;
  return swap(handle, name, found);
}

void* tranche_lookup_dlvsym(void* handle, const char* name, const char* version) {
  void* found = loader().dlvsym(handle, name, version);
  const KeepErrno keep_errno;
  if (found == nullptr) return nullptr;
  if (void* hook = own_symbol(name)) return hook;
  return swap(handle, name, found);
}

// A second copy of the driver in its own namespace would go unseen: the program gets the existing
// one.
void* tranche_lookup_dlmopen(long, const char* file, int mode) {
  return loader().dlopen(file, mode);
}
