#pragma once
// One GPU, as this process uses it: the primary context, the kernels, launches, and the clocks.
// Used by one thread. The context lives as long as the object; everything in it ends with it.

#include <functional>
#include <memory>
#include <string>

#include "load/cuda.h"
#include "load/load.h"

namespace tranche::load {

class Gpu {
 public:
  // Opens load.device through load.driver and compiles the kernels. Errors as load_cuda() and
  // cuda_error() tell them.
  static Result<std::unique_ptr<Gpu>> open(const Load& load);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  const CudaApi& cuda() const { return cuda_; }
  CUdevice device() const { return device_; }
  CUstream stream() const { return stream_; }
  const DeviceInfo& info() const { return info_; }

  // How many rounds of the busy kernel take a microsecond: with the GPU to itself, else too few.
  // Needed before the first launch, unless kernels spin or it was given.
  Result<void> calibrate();
  // One launch as the load says (a kernel, or the graph), queued on stream().
  Result<void> launch();
  // A kernel that writes to an address that nobody has.
  Result<void> launch_fault();
  // Everything queued is over.
  Result<void> finish();

  // Of load.time; only differences mean something.
  Result<nanoseconds> now();
  // An event that a thread waits for without spinning.
  Result<CUevent> event();

 private:
  Gpu(const CudaApi& cuda, Load load);
  Result<void> prepare();
  Result<void> describe();
  Result<void> launch_kernel(nanoseconds time, std::uint64_t rounds, CUdeviceptr sink);
  Result<double> time_of(std::uint64_t rounds);
  Result<void> make_graph();
  std::uint64_t rounds_for(nanoseconds time) const;

  CudaApi cuda_;
  Load load_;
  DeviceInfo info_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUfunction busy_ = nullptr;
  CUfunction spin_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraphExec graph_ = nullptr;
  unsigned blocks_ = 1;

  // TimeBase::kDevice: events on a stream of their own, each the base of the next, because the
  // driver tells the time between them as a float.
  CUstream clock_stream_ = nullptr;
  CUevent last_tick_ = nullptr;
  CUevent next_tick_ = nullptr;
  nanoseconds device_time_{0};
};

}  // namespace tranche::load
