#pragma once
// Launches: what the many launch functions come down to.

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

// Checks the shape and takes the parameters' bytes. INVALID_VALUE, INVALID_HANDLE,
// LAUNCH_OUT_OF_RESOURCES, COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_CLUSTER_SIZE.
CUresult make_kernel(Call& call, const FunctionPtr& function, const LaunchShape& shape,
                     void** parameters, void** extra, KernelWork& out);
// The value of a parameter of four or eight bytes.
std::uint64_t value_of(const KernelWork& kernel, unsigned index);
// How long it keeps its part of the GPU busy.
std::uint64_t duration_ns(const Context& context, const KernelWork& kernel);
// Which part that is, in permille of the multiprocessors: all of it, or what its blocks take where
// the kernel is declared to run beside others.
unsigned width_of(const Context& context, const KernelWork& kernel);
// Managed memory that its parameters point into comes to the device.
void make_parameters_resident(Call& call, Device& device, const KernelWork& kernel);
// Of a launch's attributes.
Extent cluster_of(const CUlaunchConfig& config);

}  // namespace tranche::sim::cuda
