// A body for every function of the driver that has none in this folder: a weak one, which gives way
// to the real one. So whatever NVIDIA's driver exports is there, and what is not simulated says so.

#include "sim/cuda/abi.h"

#define F(name, symbol, version)                                                            \
  extern "C" __attribute__((weak, visibility("default"))) tranche::sim::cuda::abi::CUresult \
  symbol() {                                                                                \
    return tranche::sim::cuda::abi::CUDA_ERROR_NOT_SUPPORTED;                               \
  }
#define P(name, symbol, version) F(name, symbol, version)
#include "sim/cuda/functions.def"
#undef F
#undef P
