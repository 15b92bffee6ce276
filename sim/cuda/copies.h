#pragma once
// Copies and fills: validated, timed, executed.

#include <functional>

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {

// INVALID_VALUE if an end does not exist completely.
CUresult check(Driver& driver, const CopyWork& copy);
CUresult check(Driver& driver, const SetWork& set);
// How long it takes without contention (PCI Express, or the device's memory).
std::uint64_t duration_ns(Driver& driver, const Device& device, const CopyWork& copy);
std::uint64_t duration_ns(const SetWork& set);
// With the lock: resolves the bytes. The returned function moves them.
std::function<void()> plan(Driver& driver, const CopyWork& copy);
std::function<void()> plan(Driver& driver, const SetWork& set);

// A copy between two ranges of bytes.
CopyWork linear_copy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes);
// INVALID_VALUE for an invalid kind of memory.
CUresult describe(Call& call, const CUDA_MEMCPY3D& parameters, CopyWork& out);
CUresult describe(Call& call, const CUDA_MEMCPY2D& parameters, CopyWork& out);

// A synchronous copy.
CUresult copy_now(Call& call, const StreamPtr& stream, const CopyWork& copy);
// An asynchronous copy, unless one end is ordinary host memory.
CUresult copy_later(Call& call, const StreamPtr& stream, CopyWork copy);

}  // namespace tranche::sim::cuda
