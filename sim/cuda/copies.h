#pragma once
// Copies and fills: checked, timed, carried out.

#include <functional>

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {

// INVALID_VALUE when an end is not there, or not all of it.
CUresult check(Driver& driver, const CopyWork& copy);
CUresult check(Driver& driver, const SetWork& set);
// How long it takes when nothing else is in the way (PCI Express, or the device's memory).
std::uint64_t duration_ns(Driver& driver, const Device& device, const CopyWork& copy);
std::uint64_t duration_ns(const SetWork& set);
// With the lock: where the bytes are. What comes back moves them.
std::function<void()> plan(Driver& driver, const CopyWork& copy);
std::function<void()> plan(Driver& driver, const SetWork& set);

// A copy between two ranges of bytes.
CopyWork linear_copy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes);
// INVALID_VALUE for a kind of memory that is none.
CUresult describe(Call& call, const CUDA_MEMCPY3D& parameters, CopyWork& out);
CUresult describe(Call& call, const CUDA_MEMCPY2D& parameters, CopyWork& out);

// A copy that the caller waits for.
CUresult copy_now(Call& call, const StreamPtr& stream, const CopyWork& copy);
// One that he does not wait for, unless one end is ordinary host memory.
CUresult copy_later(Call& call, const StreamPtr& stream, CopyWork copy);

}  // namespace tranche::sim::cuda
