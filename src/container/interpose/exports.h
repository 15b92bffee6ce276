#pragma once
// Our functions under the driver's names: what the library exports. For the files that define them,
// and for hooked.cpp, which gives their addresses to programs.

#include "interpose/cuda.h"

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
