#pragma once
// The entry point of every function of the simulated driver: checks that the driver is initialised,
// that the process was not forked, that there is a context, and whether a fault applies. The
// functions then only compute their result.
//
// All objects of a process are guarded by one lock (Driver::mutex): calls are short, and a thread
// that waits for the GPU releases the lock. Host functions and copies of bytes run without it.

#include <pthread.h>

#include <concepts>
#include <mutex>
#include <tuple>

#include "sim/cuda/context.h"
#include "sim/cuda/driver.h"

#define CUDA_API extern "C" __attribute__((visibility("default")))

// Defines a function and its twin for which stream 0 is the calling thread's own default stream:
//     CUDA_API_TWINS(cuStreamQuery, cuStreamQuery_ptsz, (CUstream handle), (handle)) { ... }
// The body sees `zero`, the meaning of stream 0 in this variant, and `function`, the name for
// faults.
#define CUDA_API_TWINS(name, twin, parameters, arguments)                   \
  static constexpr char name##_text[] = #name;                              \
  template <DefaultStream zero, const char* function>                       \
  static CUresult name##_either parameters;                                 \
  CUDA_API CUresult name parameters {                                       \
    return name##_either<DefaultStream::kLegacy, name##_text> arguments;    \
  }                                                                         \
  CUDA_API CUresult twin parameters {                                       \
    return name##_either<DefaultStream::kPerThread, name##_text> arguments; \
  }                                                                         \
  template <DefaultStream zero, const char* function>                       \
  static CUresult name##_either parameters

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): CUDA's names are the point here

// One call into the initialised driver. Holds the driver's lock; objects it refers to are released
// before that.
struct Call {
  Driver& driver;
  std::unique_lock<std::mutex> lock;
  ContextPtr context = nullptr;  // the current one, if the function needs one
};

// Driver calls are never cancellation points, whatever they read and wait for.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// A call's output pointers: none may be null.
template <class... Pointers>
bool given(Pointers... pointers) {
  return ((pointers != nullptr) && ...);
}

namespace detail {
// The driver of this process; null before cuInit and in a forked child.
Driver* entered();
// The effect of faults and a lost GPU on a call about `gpu` (kNone: about none).
CUresult meet(Driver& driver, const char* function, std::uint32_t gpu);
// Why this process is no longer a client of its MPS server; SUCCESS if it is, or never was.
CUresult still_client(Driver& driver);

// The final result of a call: the server may have ended the client while it waited.
inline CUresult settle(Driver& driver, CUresult answer) {
  return answer == CUDA_SUCCESS ? still_client(driver) : answer;
}
}  // namespace detail

// A call that only needs cuInit. `answer` takes the Call.
template <std::invocable<Call&> Function>
CUresult on_driver(const char* function, bool arguments_given, Function answer) {
  const Uncancelled uncancelled;
  Driver* const driver = detail::entered();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (const auto met = detail::meet(*driver, function, kNone); met != CUDA_SUCCESS) return met;
  if (!arguments_given) return CUDA_ERROR_INVALID_VALUE;
  Call call{*driver, std::unique_lock(driver->mutex)};
  return detail::settle(*driver, answer(call));
}

// A call about a device. `answer` takes the Call and the Device.
template <std::invocable<Call&, Device&> Function>
CUresult on_device(const char* function, CUdevice ordinal, bool arguments_given, Function answer) {
  const Uncancelled uncancelled;
  Driver* const driver = detail::entered();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  Device* const device = driver->device(ordinal);
  const std::uint32_t gpu = device == nullptr ? kNone : device->target.gpu;
  if (const auto met = detail::meet(*driver, function, gpu); met != CUDA_SUCCESS) return met;
  if (!arguments_given) return CUDA_ERROR_INVALID_VALUE;
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Call call{*driver, std::unique_lock(driver->mutex)};
  return detail::settle(*driver, answer(call, *device));
}

// A call in the calling thread's current context. `answer` takes the Call and the Context.
template <std::invocable<Call&, Context&> Function>
CUresult on_context(const char* function, bool arguments_given, Function answer) {
  const Uncancelled uncancelled;
  Driver* const driver = detail::entered();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  std::uint32_t gpu = kNone;
  {
    const std::scoped_lock lock(driver->mutex);
    ContextPtr context;
    std::ignore = driver->current_context(context);
    if (context) gpu = context->device.target.gpu;
  }
  // A fault may delay the call: without the lock.
  if (const auto met = detail::meet(*driver, function, gpu); met != CUDA_SUCCESS) return met;
  driver->clock.take_part();
  Call call{*driver, std::unique_lock(driver->mutex)};
  const CUresult found = driver->current_context(call.context);
  if (found != CUDA_SUCCESS) return found;
  if (!arguments_given) return CUDA_ERROR_INVALID_VALUE;
  return detail::settle(*driver, answer(call, *call.context));
}

}  // namespace tranche::sim::cuda
