#pragma once
// Images of GPU code in all forms that the driver accepts: PTX text, a cubin (an ELF file), a fat
// binary that contains several.
//
// From a fat binary the entry that fits the device best is taken: machine code of the device's
// architecture before PTX that can be compiled for it, the nearest architecture first.
//
// From a cubin the names of its kernels and the sizes of their parameters are read. Compressed
// entries of a fat binary are not unpacked: such an entry is taken as it is, and yields a kernel
// for any requested name, of which nothing is known (`is_opaque`). To get real names, load PTX.

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

// The target of an image: 89 for 8.9.
struct ImageTarget {
  unsigned capability = 0;
  unsigned newest_ptx = 0;
};
// Machine code runs on its own major architecture, from its minor version on.
bool runs_code_for(const ImageTarget& device, unsigned architecture);

// Reads what `image` points to; its length is in it (PTX ends with a zero). An image that is not a
// fat binary is not checked for fit. INVALID_IMAGE, INVALID_PTX, INVALID_SOURCE; NO_BINARY_FOR_GPU:
// nothing in it fits the device. `log` explains why.
abi::CUresult read_image(const void* image, const ImageTarget& device, Image& out,
                         std::string& log);
// The newest PTX version that a driver of this CUDA version accepts, 87 for 8.7.
unsigned newest_ptx(std::uint32_t cuda_version);

}  // namespace tranche::sim::cuda
