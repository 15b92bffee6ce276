#pragma once
// Launches: the common implementation of the many launch functions.

#include "sim/cuda/modules.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {

struct LaunchShape {
  Extent grid;
  Extent block;
  unsigned shared_bytes = 0;
  bool is_cooperative = false;
  Extent cluster;
};

// Validates the shape and copies the parameters' bytes. INVALID_VALUE, INVALID_HANDLE,
// LAUNCH_OUT_OF_RESOURCES, COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_CLUSTER_SIZE.
CUresult make_kernel(Call& call, const FunctionPtr& function, const LaunchShape& shape,
                     void** parameters, void** extra, KernelWork& out);
// The value of a parameter of four or eight bytes.
std::uint64_t value_of(const KernelWork& kernel, unsigned index);
// How long it keeps its part of the GPU busy.
std::uint64_t duration_ns(const Context& context, const KernelWork& kernel);
// The size of that part, in permille of the multiprocessors: all, or what its blocks take if the
// kernel is declared to run next to others.
unsigned width_of(const Context& context, const KernelWork& kernel);
// Managed memory that its parameters point into becomes resident on the device.
void make_parameters_resident(Call& call, Device& device, const KernelWork& kernel);
// From a launch's attributes.
Extent cluster_of(const CUlaunchConfig& config);

}  // namespace tranche::sim::cuda
