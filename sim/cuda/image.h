#pragma once
// Images of GPU code in all forms that the driver takes: PTX text, a cubin (an ELF file), a fat
// binary that holds several.
//
// Of a fat binary the entry that fits the device best is taken: machine code of the device's
// architecture before PTX that can be compiled for it, the nearest architecture first.
//
// Of a cubin the names of its kernels and the sizes of their parameters are read. What a fat binary
// holds compressed is not unpacked: such an entry is taken as it is, and gives a kernel by whatever
// name is asked for, of which nothing is known (`is_opaque`). Whoever needs real names loads PTX.

#include <cstddef>
#include <span>

#include "sim/cuda/abi.h"
#include "sim/cuda/ptx.h"

namespace tranche::sim::cuda {

struct Image {
  PtxModule code;
  bool is_opaque = false;
  bool is_ptx = false;
};

// What an image is to run on: 89 for 8.9.
struct ImageTarget {
  unsigned capability = 0;
  unsigned newest_ptx = 0;
};
// Machine code runs on its own major architecture, from its minor one on.
bool runs_code_for(const ImageTarget& device, unsigned architecture);

// Reads what `image` points to; its length is in it (PTX ends with a zero). Of what is no fat
// binary it is not asked whether it fits. INVALID_IMAGE, INVALID_PTX, INVALID_SOURCE;
// NO_BINARY_FOR_GPU: nothing in it fits the device. `log` says why.
abi::CUresult read_image(const void* image, const ImageTarget& device, Image& out,
                         std::string& log);
// The newest PTX version that a driver of this CUDA version takes, 87 for 8.7.
unsigned newest_ptx(std::uint32_t cuda_version);

}  // namespace tranche::sim::cuda
