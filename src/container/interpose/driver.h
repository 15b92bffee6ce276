#pragma once
// The real driver's functions, by symbol. Our own, which are called before them, are in hooked.h.
//
// Bound once, when a program first looks one of them up or calls one of ours (bind_cuda); until
// then each member first binds and then calls the real function. If no driver is loaded, or it
// lacks the symbol, a member returns CUDA_ERROR_NOT_INITIALIZED (NVML_ERROR_UNINITIALIZED,
// NVML_ERROR_FUNCTION_NOT_FOUND). A forked child keeps the addresses: the driver stays in place.

#include <dlfcn.h>

#include "interpose/cuda.h"
#include "interpose/lock.h"

namespace tranche::interpose {

struct Driver {
#define OWN(symbol, name, version, twin, parameters) int(*symbol) parameters;
#define GATED(symbol, name, version, twin, stream, parameters, arguments) int(*symbol) parameters;
#define LOADS(symbol, name, version, twin, parameters, arguments) int(*symbol) parameters;
#define LATER(symbol, name, version, twin, parameters, arguments) int(*symbol) parameters;
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) int(*symbol) parameters;
#define USED(symbol, parameters) int(*symbol) parameters;
#include "interpose/symbols.def"
#include "interpose/used.def"
#undef OWN
#undef GATED
#undef LOADS
#undef LATER
#undef HOLDS
#undef USED
};
extern Driver driver;

struct Nvml {
#define NVML(symbol, parameters) int(*symbol) parameters;
#include "interpose/nvml.def"
#undef NVML
  int (*nvmlDeviceGetUUID)(void*, void*, unsigned);
};
extern Nvml nvml;

// Finds the loaded library; `handle`: its handle or that of a dependent, if the program gave one,
// else nullptr. false: it is not loaded. Cheap once found.
bool bind_cuda(void* handle);
bool bind_nvml(void* handle);
bool is_cuda_bound();
// Held while a library is bound, and by users of more than the addresses.
Lock& binding_lock();
// In a forked child: the addresses stay; the lock is reset, because its thread does not exist.
void forget_driver();

// The bound library's function for line `i` of symbols.def or nvml.def; nullptr: none.
void* cuda_symbol(size_t i);
void* nvml_symbol(size_t i);

// The bound library's function for a program that was given `found`: `found` itself, or, if it is
// from another copy of the library, the function of this name. A second copy has contexts and
// memory of its own, which nobody would count.
void* cuda_function(void* found, const char* name);
void* nvml_function(void* found, const char* name);

// Whether `address` is one of our own functions.
bool is_ours(void* address);

// The C library's own functions, found without calling it.
struct Loader {
  void* (*dlsym)(void*, const char*);
  void* (*dlvsym)(void*, const char*, const char*);
  void* (*dlmopen)(long, const char*, int);
  void* (*dlopen)(const char*, int);
  char* (*dlerror)();
  int (*dladdr)(const void*, Dl_info*);
};
const Loader& loader();

}  // namespace tranche::interpose
