#pragma once
// Stream capture: work put into a stream becomes nodes of a graph instead of being executed.
//
// A capture begins in one stream. Other streams join it by waiting for an event recorded in it, and
// must be joined back before it ends. Calls that would wait for, or change, what a capture merely
// records are refused and invalidate it, according to the rules of
// cuThreadExchangeStreamCaptureMode.

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
  std::uint64_t thread = 0;        // the thread that began it
  const Stream* origin = nullptr;  // the stream in which it began
  bool is_invalid = false;
  bool owns_graph = true;  // false: cuStreamBeginCaptureToGraph named an existing one
  // The last nodes of each participating stream.
  std::map<const Stream*, std::vector<NodePtr>> frontier;
  std::vector<abi::CUgraphNode> told;  // handles returned by cuStreamGetCaptureInfo
  std::vector<abi::CUgraphEdgeData> told_edges;
};

void invalidate(Capture& capture);
// For functions that wait for a stream, or query it: refused while it captures.
abi::CUresult refuse_capturing(Stream& stream);
// For functions that a capture cannot record (cuMemAlloc and similar): refused during a capture
// that forbids them to this thread.
abi::CUresult refuse_unsafe(Call& call);
// Work in the legacy stream would wait for blocking streams that capture. `only_asks`: those stay
// valid.
abi::CUresult refuse_implicit(const Stream& stream, bool only_asks = false);

// Adds `work` as a node after the stream's last one or, for events, without a node.
abi::CUresult add_to_capture(Call& call, const StreamPtr& stream, Work work);
// Adds a node for an allocation and returns its address.
abi::CUresult capture_allocation(Call& call, const StreamPtr& stream, AllocWork work,
                                 abi::CUdeviceptr& out);

}  // namespace tranche::sim::cuda
