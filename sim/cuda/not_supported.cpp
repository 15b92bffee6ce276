// A body for every driver function that has none in this folder: a weak symbol, which the real one
// replaces. So everything that NVIDIA's driver exports exists, and what is not simulated reports
// that.

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
