// Events: made, recorded, waited for, compared.

#include "sim/cuda/capture.h"
#include "sim/cuda/constant.h"
#include "sim/cuda/events.h"
#include "sim/cuda/pools.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

CUresult destroy(const char* function, CUevent handle) {
  return on_context(function, given(handle), [&](Call& call, Context&) {
    const EventPtr event = call.driver.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    call.driver.events.erase(*event);
    return CUDA_SUCCESS;
  });
}

// On the machine's clock, so that it counts what other contexts ran in between.
CUresult elapsed(const char* function, float* milliseconds, CUevent from, CUevent to) {
  return on_context(function, given(milliseconds), [&](Call& call, Context&) {
    const EventPtr start = call.driver.events.find(from);
    const EventPtr end = call.driver.events.find(to);
    if (!start || !end || !start->op || !end->op || !start->is_timed() || !end->is_timed()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    call.driver.executor.pump(call.lock);
    if (!start->is_over() || !end->is_over()) return CUDA_ERROR_NOT_READY;
    const auto ns = static_cast<std::int64_t>(end->op->end_ns - start->op->end_ns);
    *milliseconds = static_cast<float>(static_cast<double>(ns) / 1e6);
    return CUDA_SUCCESS;
  });
}

// The wait for a recording of another process, in a separate stream: the executor checks it
// repeatedly.
OpPtr wait_aside(Call& call, const EventPtr& event) {
  const StreamPtr aside = make_default_stream(call.driver, call.context, false);
  aside->flags = CU_STREAM_NON_BLOCKING;
  OpPtr op;
  std::ignore = run(call, aside, WaitWork{.event = event}, &op);
  return op;
}

}  // namespace

CUDA_API CUresult cuEventCreate(CUevent* out, unsigned flags) {
  constexpr unsigned kAll =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  const bool arguments =
      given(out) && flags <= kAll &&
      ((flags & CU_EVENT_INTERPROCESS) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0);
  return on_context(__func__, arguments, [&](Call& call, Context& context) {
    auto event = std::make_shared<Event>();
    event->context = call.context;
    event->flags = flags;
    if ((flags & CU_EVENT_INTERPROCESS) != 0) {
      event->share = EventShare::make(context.device);
      if (!event->share) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = handle_of<CUevent>(*call.driver.events.add(std::move(event)));
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuEventDestroy(CUevent event) { return destroy(__func__, event); }
CUDA_API CUresult cuEventDestroy_v2(CUevent event) { return destroy(__func__, event); }

CUDA_API_TWINS(cuEventRecord, cuEventRecord_ptsz, (CUevent event_handle, CUstream handle),
               (event_handle, handle)) {
  if (is_constant()) return CUDA_SUCCESS;
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    const EventPtr event = call.driver.events.find(event_handle);
    if (!event || event->context.lock() != stream->context.lock()) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    return perform(call, stream, RecordWork{event});
  });
}

CUDA_API CUresult cuEventQuery(CUevent handle) {
  if (is_constant()) return CUDA_SUCCESS;
  return on_context(__func__, true, [&](Call& call, Context&) {
    const EventPtr event = call.driver.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
    call.driver.executor.pump(call.lock);
    return event->is_over() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUDA_API CUresult cuEventSynchronize(CUevent handle) {
  return on_context(__func__, true, [&](Call& call, Context&) {
    const EventPtr event = call.driver.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
    OpPtr op = event->op;
    if (event->recorded_elsewhere() != 0) op = wait_aside(call, event);
    call.driver.executor.wait(call.lock, [&] { return op == nullptr || op->is_done(); });
    release_unused(call.driver);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  return elapsed(__func__, milliseconds, from, to);
}
CUDA_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
  return elapsed(__func__, milliseconds, from, to);
}

}  // namespace tranche::sim::cuda
