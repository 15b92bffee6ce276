#pragma once
// One GPU in this process: the primary context, the kernels, launches and clocks. Used by one
// thread. The context, with all that is in it, ends with the object.

#include <functional>
#include <memory>
#include <string>

#include "load/cuda.h"
#include "load/load.h"

namespace tranche::load {

class Gpu {
 public:
  // Opens load.device through the library load.driver, and compiles the kernels. Errors are those
  // of load_cuda() and cuda_error().
  static Result<std::unique_ptr<Gpu>> open(const Load& load);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  const CudaApi& cuda() const { return cuda_; }
  CUdevice device() const { return device_; }
  CUstream stream() const { return stream_; }
  const DeviceInfo& info() const { return info_; }

  // Measures how many rounds of the busy kernel take a microsecond. If another process uses the GPU
  // meanwhile, the result is too low. Call it before the first launch. Does nothing if kernels spin
  // or the load already has the value.
  Result<void> calibrate();
  // Queues one launch of the load (a kernel or the graph) on stream().
  Result<void> launch();
  // Queues a kernel that writes to an invalid address.
  Result<void> launch_fault();
  // Waits until all queued work has ended.
  Result<void> finish();

  // The time by load.time. Only differences between two times are meaningful.
  Result<nanoseconds> now();
  // Creates an event on which a thread waits without spinning.
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

  // For TimeBase::kDevice: events on a separate stream. Each event is the base of the next, because
  // the driver returns the time between two events as a float.
  CUstream clock_stream_ = nullptr;
  CUevent last_tick_ = nullptr;
  CUevent next_tick_ = nullptr;
  nanoseconds device_time_{0};
};

}  // namespace tranche::load
