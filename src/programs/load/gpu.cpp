#include "load/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "load/kernels.h"

namespace tranche::load {
namespace {

constexpr unsigned kThreads = 256;      // in a block
constexpr CUdeviceptr kNobodys = 0x10;  // an address in the first page, which is never mapped

nanoseconds from_milliseconds(float milliseconds) {
  return nanoseconds(static_cast<nanoseconds::rep>(std::llround(double{milliseconds} * 1e6)));
}

}  // namespace

Gpu::Gpu(const CudaApi& cuda, Load load) : cuda_(cuda), load_(std::move(load)) {}

Gpu::~Gpu() {
  if (context_ != nullptr) cuda_.cuDevicePrimaryCtxRelease(device_);
}

Result<std::unique_ptr<Gpu>> Gpu::open(const Load& load) {
  ASSIGN_OR_RETURN(const CudaApi cuda, load_cuda(load.driver));
  std::unique_ptr<Gpu> gpu(new Gpu(cuda, load));
  TRY(gpu->prepare());
  return gpu;
}

Result<void> Gpu::prepare() {
  TRY_CUDA(cuda_, cuInit(0));
  TRY_CUDA(cuda_, cuDeviceGet(&device_, load_.device));
  TRY(describe());
  TRY_CUDA(cuda_, cuDevicePrimaryCtxRetain(&context_, device_));
  TRY_CUDA(cuda_, cuCtxSetCurrent(context_));
  CUmodule module = nullptr;
  TRY_CUDA(cuda_, cuModuleLoadData(&module, kPtx));
  TRY_CUDA(cuda_, cuModuleGetFunction(&busy_, module, kBusyKernel));
  TRY_CUDA(cuda_, cuModuleGetFunction(&spin_, module, kSpinKernel));
  TRY_CUDA(cuda_, cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  if (load_.time == TimeBase::kDevice) {
    TRY_CUDA(cuda_, cuStreamCreate(&clock_stream_, CU_STREAM_NON_BLOCKING));
    TRY_CUDA(cuda_, cuEventCreate(&last_tick_, 0));
    TRY_CUDA(cuda_, cuEventCreate(&next_tick_, 0));
    TRY_CUDA(cuda_, cuEventRecord(last_tick_, clock_stream_));
  }
  return {};
}

Result<void> Gpu::describe() {
  std::array<char, 128> name = {};
  std::size_t memory = 0;
  int processors = 0;
  int threads = 0;
  TRY_CUDA(cuda_, cuDeviceGetName(name.data(), static_cast<int>(name.size()), device_));
  TRY_CUDA(cuda_, cuDeviceTotalMem(&memory, device_));
  TRY_CUDA(cuda_,
           cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_));
  TRY_CUDA(cuda_, cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                                       device_));
  TRY_CUDA(cuda_,
           cuDeviceGetAttribute(&info_.compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device_));
  info_.name = name.data();
  info_.memory = Bytes{memory};
  info_.rounds_per_us = load_.rounds_per_us;
  const unsigned all =
      static_cast<unsigned>(processors) * static_cast<unsigned>(threads) / kThreads;
  blocks_ = std::max(1U, all * load_.fill / 100);
  return {};
}

Result<void> Gpu::launch_kernel(nanoseconds time, std::uint64_t rounds, CUdeviceptr sink) {
  auto ns = static_cast<std::uint64_t>(time.count());
  std::array<void*, 3> parameters = {&ns, &rounds, &sink};
  const CUfunction function = load_.spin && sink == 0 ? spin_ : busy_;
  TRY_CUDA(cuda_, cuLaunchKernel(function, blocks_, 1, 1, kThreads, 1, 1, 0, stream_,
                                 parameters.data(), nullptr));
  return {};
}

// The time of `rounds` rounds in microseconds, measured by events.
Result<double> Gpu::time_of(std::uint64_t rounds) {
  ASSIGN_OR_RETURN(const CUevent begin, event());
  ASSIGN_OR_RETURN(const CUevent end, event());
  TRY_CUDA(cuda_, cuEventRecord(begin, stream_));
  TRY(launch_kernel(nanoseconds(rounds), rounds, 0));
  TRY_CUDA(cuda_, cuEventRecord(end, stream_));
  TRY_CUDA(cuda_, cuEventSynchronize(end));
  float milliseconds = 0;
  TRY_CUDA(cuda_, cuEventElapsedTime(&milliseconds, begin, end));
  return double{milliseconds} * 1000;
}

Result<void> Gpu::calibrate() {
  if (load_.spin || info_.rounds_per_us > 0) return {};
  // Long enough that the launch itself does not matter and the GPU's clocks have risen.
  constexpr double kLongEnoughUs = 5000;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 34U;
  constexpr int kTries = 3;
  std::uint64_t rounds = 1000;
  double us = 0;
  while (us < kLongEnoughUs && rounds < kMost) {
    rounds *= 4;
    ASSIGN_OR_RETURN(us, time_of(rounds));
  }
  for (int i = 1; i < kTries; ++i) {
    ASSIGN_OR_RETURN(const double again, time_of(rounds));
    us = std::min(us, again);
  }
  if (us <= 0) return fail(Code::kInternal, "the GPU's events tell no time");
  info_.rounds_per_us = static_cast<double>(rounds) / us;
  return {};
}

std::uint64_t Gpu::rounds_for(nanoseconds time) const {
  const double us = static_cast<double>(time.count()) / 1000;
  return static_cast<std::uint64_t>(std::max(1.0, us * info_.rounds_per_us));
}

Result<void> Gpu::make_graph() {
  CUgraph graph = nullptr;
  TRY_CUDA(cuda_, cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (unsigned i = 0; i < load_.graph_nodes; ++i) {
    TRY(launch_kernel(load_.kernel, rounds_for(load_.kernel), 0));
  }
  TRY_CUDA(cuda_, cuStreamEndCapture(stream_, &graph));
  TRY_CUDA(cuda_, cuGraphInstantiate(&graph_, graph, 0));
  TRY_CUDA(cuda_, cuGraphDestroy(graph));
  return {};
}

Result<void> Gpu::launch() {
  if (load_.graph_nodes == 0) return launch_kernel(load_.kernel, rounds_for(load_.kernel), 0);
  if (graph_ == nullptr) TRY(make_graph());
  TRY_CUDA(cuda_, cuGraphLaunch(graph_, stream_));
  return {};
}

Result<void> Gpu::launch_fault() { return launch_kernel(nanoseconds(1), 1, kNobodys); }

Result<void> Gpu::finish() {
  TRY_CUDA(cuda_, cuStreamSynchronize(stream_));
  return {};
}

Result<nanoseconds> Gpu::now() {
  if (load_.time == TimeBase::kHost) return std::chrono::steady_clock::now().time_since_epoch();
  float milliseconds = 0;
  TRY_CUDA(cuda_, cuEventRecord(next_tick_, clock_stream_));
  TRY_CUDA(cuda_, cuEventSynchronize(next_tick_));
  TRY_CUDA(cuda_, cuEventElapsedTime(&milliseconds, last_tick_, next_tick_));
  std::swap(last_tick_, next_tick_);
  return device_time_ += from_milliseconds(milliseconds);
}

Result<CUevent> Gpu::event() {
  CUevent made = nullptr;
  TRY_CUDA(cuda_, cuEventCreate(&made, CU_EVENT_BLOCKING_SYNC));
  return made;
}

}  // namespace tranche::load
