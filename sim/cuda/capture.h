#pragma once
// Stream capture: what is put into a stream becomes nodes of a graph instead of happening.
//
// A capture begins in one stream; others join it by waiting for an event recorded in it, and must
// be joined back before it ends. Calls that would wait for, or change, what a capture only notes
// are refused and make it invalid, as the rules of cuThreadExchangeStreamCaptureMode have it.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "sim/cuda/graph.h"
#include "sim/cuda/stream.h"

namespace tranche::sim::cuda {

struct Call;

struct Capture {
  std::uint64_t id = 0;
  GraphPtr graph;
  abi::CUstreamCaptureMode mode = abi::CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::uint64_t thread = 0;        // that began it
  const Stream* origin = nullptr;  // in which it began
  bool is_invalid = false;
  bool owns_graph = true;  // cuStreamBeginCaptureToGraph names one that is there
  // The last nodes of each stream that takes part.
  std::map<const Stream*, std::vector<NodePtr>> frontier;
  std::vector<abi::CUgraphNode> told;  // handles that cuStreamGetCaptureInfo gave out
  std::vector<abi::CUgraphEdgeData> told_edges;
};

void invalidate(Capture& capture);
// Functions that wait for a stream, or ask it: refused while it captures.
abi::CUresult refuse_capturing(Stream& stream);
// Functions that a capture could not note (cuMemAlloc and its like): refused while one goes on that
// forbids them to this thread.
abi::CUresult refuse_unsafe(Call& call);
// Work in the legacy stream would wait for blocking streams that capture. `only_asks`: they stay
// good.
abi::CUresult refuse_implicit(const Stream& stream, bool only_asks = false);

// `work` as a node behind what the stream did last, or, for events, without one.
abi::CUresult add_to_capture(Call& call, const StreamPtr& stream, Work work);
// A node for an allocation; its address.
abi::CUresult capture_allocation(Call& call, const StreamPtr& stream, AllocWork work,
                                 abi::CUdeviceptr& out);

}  // namespace tranche::sim::cuda
