#pragma once
// Shared parts of the stream functions: finding a stream, putting work into it, waiting for it.

#include <concepts>

#include "sim/cuda/library.h"
#include "sim/cuda/work.h"

namespace tranche::sim::cuda {

// Waits until everything queued in the stream, or in all of the context's streams, is over.
CUresult synchronize(Call& call, const StreamPtr& stream);
CUresult synchronize(Call& call, const Context& context);
// Clamps priorities to the allowed range.
int clamp_priority(int priority);

// Puts `work` into the stream: it will happen in order or, while the stream captures, become a node
// of the graph.
CUresult perform(Call& call, const StreamPtr& stream, Work work);
// The same, never captured. The op represents the work: it is over when the work is.
CUresult run(Call& call, const StreamPtr& stream, const Work& work, OpPtr* out = nullptr);

// A call about a stream. `answer` takes the Call and the stream.
template <std::invocable<Call&, const StreamPtr&> Function>
CUresult on_stream(const char* function, CUstream handle, DefaultStream zero, bool arguments_given,
                   Function answer) {
  return on_context(function, arguments_given, [&](Call& call, Context&) {
    const StreamPtr stream = find_stream(call.driver, call.context, handle, zero);
    return stream ? answer(call, stream) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace tranche::sim::cuda
