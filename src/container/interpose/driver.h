#pragma once
// The real driver's functions, by symbol, and which of our own stands before each.
//
// Bound once, when a program first looks one of them up or calls one of ours (bind_cuda): until
// then each member binds, and goes on in the real function. Where no driver is loaded, and for a
// symbol that it does not have, a member answers CUDA_ERROR_NOT_INITIALIZED
// (NVML_ERROR_UNINITIALIZED, NVML_ERROR_FUNCTION_NOT_FOUND). A forked child keeps the addresses:
// the driver is where it was.

#include <dlfcn.h>

#include "interpose/cuda.h"

// Our functions, under the driver's names: what the library exports.
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

// Finds the library that is loaded; `handle`: of it or of what depends on it, where the program
// gave one, else nullptr. false: it is not loaded. Cheap once it has been found.
bool bind_cuda(void* handle);
bool bind_nvml(void* handle);
bool is_cuda_bound();
// In a forked child: the addresses stay, the lock of a thread that is not there does not.
void forget_driver();

// The function of the bound library that a program wants which was given `found`: itself, or, where
// that is of another copy of the library, the one of this name. A second copy has contexts and
// memory of its own, which nobody would count.
void* cuda_function(void* found, const char* name);
void* nvml_function(void* found, const char* name);

// What stands before the real function `address`; nullptr: nothing does.
void* hook_of(void* address);
// Whether `address` is one of our own functions.
bool is_ours(void* address);
// Whether something stands before the driver's function `name`, as cuGetProcAddress names them.
bool is_hooked_name(const char* name);
// Asks the driver for each interface of `name` that we know, and remembers what it answered: it may
// have answered other addresses than dlsym did.
void learn(const char* name, std::uint64_t flags);

// The C library's own, found without asking it.
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
