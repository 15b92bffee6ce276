// Streams: made, asked, waited for.

#include <algorithm>

#include "sim/cuda/capture.h"
#include "sim/cuda/constant.h"
#include "sim/cuda/events.h"
#include "sim/cuda/pools.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

CUresult create(const char* function, CUstream* out, unsigned flags, int priority) {
  const bool arguments = given(out) && flags <= CU_STREAM_NON_BLOCKING;
  return on_context(function, arguments, [&](Call& call, Context& context) {
    auto stream = std::make_shared<Stream>();
    stream->context = call.context;
    stream->flags = flags;
    stream->priority = clamp_priority(priority);
    stream->id = ++call.driver.last_id;
    stream = call.driver.streams.add(std::move(stream));
    context.streams[stream->number] = stream;
    *out = handle_of<CUstream>(*stream);
    return CUDA_SUCCESS;
  });
}

// What is queued still happens.
CUresult destroy(const char* function, CUstream handle) {
  return on_context(function, given(handle), [&](Call& call, Context&) {
    const StreamPtr stream = call.driver.streams.find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) invalidate(*stream->capture);
    if (const auto context = stream->context.lock()) context->streams.erase(stream->number);
    call.driver.streams.erase(*stream);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult synchronize(Call& call, const StreamPtr& stream) {
  if (const CUresult allowed = refuse_capturing(*stream); allowed != CUDA_SUCCESS) return allowed;
  // Streams that stream 0 waits for are waited for through its ops.
  const OpPtr last = stream->last;
  call.driver.executor.wait(call.lock, [&] { return last == nullptr || last->is_done(); });
  release_unused(call.driver);
  return CUDA_SUCCESS;
}

CUresult synchronize(Call& call, const Context& context) {
  std::vector<OpPtr> pending;
  for (const StreamPtr& stream : context.all_streams()) {
    if (const CUresult allowed = refuse_capturing(*stream); allowed != CUDA_SUCCESS) return allowed;
    if (stream->is_busy()) pending.push_back(stream->last);
  }
  call.driver.executor.wait(call.lock, [&] {
    return std::ranges::all_of(pending, [](const OpPtr& op) { return op->is_done(); });
  });
  release_unused(call.driver);
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return create(__func__, stream, flags, 0);
}
CUDA_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create(__func__, stream, flags, priority);
}
CUDA_API CUresult cuStreamDestroy(CUstream stream) { return destroy(__func__, stream); }
CUDA_API CUresult cuStreamDestroy_v2(CUstream stream) { return destroy(__func__, stream); }

CUDA_API_TWINS(cuStreamSynchronize, cuStreamSynchronize_ptsz, (CUstream handle), (handle)) {
  if (is_constant()) return CUDA_SUCCESS;
  return on_stream(function, handle, zero, true,
                   [&](Call& call, const StreamPtr& stream) { return synchronize(call, stream); });
}

CUDA_API_TWINS(cuStreamQuery, cuStreamQuery_ptsz, (CUstream handle), (handle)) {
  if (is_constant()) return CUDA_SUCCESS;
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    if (const CUresult allowed = refuse_capturing(*stream); allowed != CUDA_SUCCESS) return allowed;
    call.driver.executor.pump(call.lock);
    return stream->is_busy() ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  });
}

CUDA_API_TWINS(cuStreamWaitEvent, cuStreamWaitEvent_ptsz,
               (CUstream handle, CUevent event_handle, unsigned flags),
               (handle, event_handle, flags)) {
  const bool arguments = flags <= CU_EVENT_WAIT_EXTERNAL;
  return on_stream(function, handle, zero, arguments, [&](Call& call, const StreamPtr& stream) {
    const EventPtr event = call.driver.events.find(event_handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    return perform(call, stream,
                   WaitWork{.event = event, .is_external = flags == CU_EVENT_WAIT_EXTERNAL});
  });
}

CUDA_API_TWINS(cuStreamGetPriority, cuStreamGetPriority_ptsz, (CUstream handle, int* priority),
               (handle, priority)) {
  return on_stream(function, handle, zero, given(priority), [&](Call&, const StreamPtr& stream) {
    *priority = stream->priority;
    return CUDA_SUCCESS;
  });
}

CUDA_API_TWINS(cuStreamGetCtx, cuStreamGetCtx_ptsz, (CUstream handle, CUcontext* out),
               (handle, out)) {
  return on_stream(function, handle, zero, given(out), [&](Call&, const StreamPtr& stream) {
    *out = handle_of<CUcontext>(*stream->context.lock());
    return CUDA_SUCCESS;
  });
}
// There are no green contexts here.
CUDA_API_TWINS(cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz,
               (CUstream handle, CUcontext* out, void** green), (handle, out, green)) {
  return on_stream(function, handle, zero, given(out, green), [&](Call&, const StreamPtr& stream) {
    *out = handle_of<CUcontext>(*stream->context.lock());
    *green = nullptr;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
