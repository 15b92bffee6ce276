#pragma once
// The real driver's functions, by symbol, and which of our functions hooks each.
//
// Bound once, when a program first looks one of them up or calls one of ours (bind_cuda); until
// then each member first binds and then calls the real function. If no driver is loaded, or it
// lacks the symbol, a member returns CUDA_ERROR_NOT_INITIALIZED (NVML_ERROR_UNINITIALIZED,
// NVML_ERROR_FUNCTION_NOT_FOUND). A forked child keeps the addresses: the driver stays in
// place.

#include <dlfcn.h>

#include "interpose/cuda.h"

// Our functions under the driver's names: the library's exports.
#pragma GCC visibility push(default)
extern "C" {
using tranche::interpose::CUdeviceptr;
using tranche::interpose::Location;
#define OWN(symbol, name, version, twin, parameters) int symbol parameters;
#define GATED(symbol, name, version, twin, stream, parameters, arguments) int symbol parameters;
#define LOADS(symbol, name, version, twin, parameters, arguments) int symbol parameters;
#define LATER(symbol, name, version, twin, parameters, arguments) int symbol parameters;
#define HOLDS(symbol, name, version, twin, stream, parameters, arguments) int symbol parameters;
#include "interpose/symbols.def"
#define NVML(symbol, parameters) int symbol parameters;
#include "interpose/nvml.def"
#undef OWN
#undef GATED
#undef LOADS
#undef LATER
#undef HOLDS
#undef NVML
}
#pragma GCC visibility pop

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
// In a forked child: keeps the addresses, and resets the lock, whose owner may not exist here.
void forget_driver();

// The bound library's function for a lookup that returned `found`: itself or, if it belongs to
// another copy of the library, the function of this name. A second copy has its own contexts and
// memory, which would go uncounted.
void* cuda_function(void* found, const char* name);
void* nvml_function(void* found, const char* name);

// Our hook for the real function `address`; nullptr: there is none.
void* hook_of(void* address);
// Whether `address` is one of our own functions.
bool is_ours(void* address);
// Whether the driver's function `name` is hooked, by its name in cuGetProcAddress.
bool is_hooked_name(const char* name);
// Asks the driver for each interface of `name` that we know, and remembers the answers: they may
// differ from dlsym's addresses.
void learn(const char* name, std::uint64_t flags);

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
