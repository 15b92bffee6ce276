#include "sim/cuda/capture.h"

#include <algorithm>
#include <set>

#include "sim/cuda/events.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

std::vector<Node*> raw(const std::vector<NodePtr>& nodes) {
  std::vector<Node*> out;
  for (const NodePtr& node : nodes) out.push_back(node.get());
  return out;
}

// How calls of this thread meet captures (cuThreadExchangeStreamCaptureMode).
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::vector<std::shared_ptr<Capture>> all_captures(Call& call) {
  std::vector<std::shared_ptr<Capture>> found;
  for (const auto& [number, context] : call.driver.contexts) {
    for (const StreamPtr& stream : context->all_streams()) {
      if (!stream->capture) continue;
      if (std::ranges::find(found, stream->capture) == found.end())
        found.push_back(stream->capture);
    }
  }
  return found;
}

bool forbids(const Capture& capture) {
  if (capture.is_invalid || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  const bool own = capture.thread == thread_number();
  if (capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL) {
    return own || thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
  }
  return own && capture.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
}

CUresult refuse(Capture& capture, CUresult why) {
  invalidate(capture);
  return why;
}

// The stream joins the capture that the event belongs to, or draws its dependencies from there.
CUresult join(const StreamPtr& stream, Event& event) {
  const auto& capture = event.capture;
  if (capture->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture && stream->capture != capture) {
    invalidate(*stream->capture);
    return refuse(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (stream->is_legacy) return refuse(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  stream->capture = capture;
  auto& frontier = capture->frontier[stream.get()];
  for (const NodePtr& node : event.captured) {
    if (std::ranges::find(frontier, node) == frontier.end()) frontier.push_back(node);
  }
  return CUDA_SUCCESS;
}

}  // namespace

void invalidate(Capture& capture) { capture.is_invalid = true; }

CUresult refuse_capturing(Stream& stream) {
  if (!stream.capture) return CUDA_SUCCESS;
  return refuse(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult refuse_unsafe(Call& call) {
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : all_captures(call)) {
    if (forbids(*capture)) result = refuse(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

CUresult refuse_implicit(const Stream& stream, bool only_asks) {
  if (!stream.is_legacy) return CUDA_SUCCESS;
  const auto context = stream.context.lock();
  for (const StreamPtr& other : context->all_streams()) {
    if (other->capture && other->is_blocking() && !other->capture->is_invalid) {
      if (!only_asks) invalidate(*other->capture);
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return CUDA_SUCCESS;
}

CUresult add_to_capture(Call& call, const StreamPtr& stream, Work work) {
  if (auto* const wait = std::get_if<WaitWork>(&work); wait != nullptr && !wait->is_external) {
    if (wait->event->capture) return join(stream, *wait->event);
    // Something outside the capture: its graph could not know when that is over.
    return refuse(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  }
  Capture& capture = *stream->capture;
  if (capture.is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto& frontier = capture.frontier[stream.get()];
  if (auto* const record = std::get_if<RecordWork>(&work); record != nullptr) {
    record->event->capture = stream->capture;
    record->event->captured = frontier;
    return CUDA_SUCCESS;
  }
  frontier = {add_node(call, capture.graph, std::move(work), raw(frontier))};
  return CUDA_SUCCESS;
}

CUresult capture_allocation(Call& call, const StreamPtr& stream, AllocWork work, CUdeviceptr& out) {
  if (stream->capture->is_invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const CUresult reserved = reserve_graph_memory(call, work);
  if (reserved != CUDA_SUCCESS) return reserved;
  out = work.parameters.dptr;
  return add_to_capture(call, stream, std::move(work));
}

namespace {

CUresult begin(Call& call, const StreamPtr& stream, CUstreamCaptureMode mode, GraphPtr graph,
               std::vector<NodePtr> after) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++call.driver.last_id;
  capture->owns_graph = graph == nullptr;
  if (!graph) {
    graph = call.driver.graphs.add(std::make_shared<Graph>());
  }
  capture->graph = std::move(graph);
  capture->mode = mode;
  capture->thread = thread_number();
  capture->origin = stream.get();
  capture->frontier[stream.get()] = std::move(after);
  stream->capture = std::move(capture);
  return CUDA_SUCCESS;
}

// Every stream's last nodes come before the origin's.
bool is_joined(const Capture& capture) {
  std::set<const Node*> reached;
  std::vector<const Node*> rest;
  for (const NodePtr& node : capture.frontier.at(capture.origin)) rest.push_back(node.get());
  while (!rest.empty()) {
    const Node* const node = rest.back();
    rest.pop_back();
    if (!reached.insert(node).second) continue;
    rest.insert(rest.end(), node->after.begin(), node->after.end());
  }
  return std::ranges::all_of(capture.frontier, [&](const auto& entry) {
    return std::ranges::all_of(entry.second,
                               [&](const NodePtr& node) { return reached.contains(node.get()); });
  });
}

void leave(Call& call, const std::shared_ptr<Capture>& capture) {
  for (const auto& [number, context] : call.driver.contexts) {
    for (const StreamPtr& stream : context->all_streams()) {
      if (stream->capture == capture) stream->capture = nullptr;
    }
  }
  for (const auto& [number, event] : call.driver.events) {
    if (event->capture != capture) continue;
    event->capture = nullptr;
    event->captured.clear();
  }
}

CUresult end(Call& call, const StreamPtr& stream, CUgraph* out) {
  const auto capture = stream->capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) {
    return refuse(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != thread_number()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool joined = is_joined(*capture);
  leave(call, capture);
  if (!capture->is_invalid && joined) {
    *out = handle_of<CUgraph>(*capture->graph);
    return CUDA_SUCCESS;
  }
  *out = nullptr;
  if (capture->owns_graph) destroy_graph(call.driver, capture->graph);
  return capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                             : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

struct Told {
  CUstreamCaptureStatus* status = nullptr;
  std::uint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  std::size_t* count = nullptr;
};

CUresult tell(const Stream& stream, const Told& told) {
  if (!stream.capture) {
    *told.status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  Capture& capture = *stream.capture;
  if (capture.is_invalid) {
    *told.status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  }
  *told.status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (told.id != nullptr) *told.id = capture.id;
  if (told.graph != nullptr) *told.graph = handle_of<CUgraph>(*capture.graph);
  capture.told.clear();
  for (const NodePtr& node : capture.frontier[&stream]) {
    capture.told.push_back(handle_of<CUgraphNode>(*node));
  }
  capture.told_edges.assign(capture.told.size(), CUgraphEdgeData{});
  if (told.dependencies != nullptr) *told.dependencies = capture.told.data();
  if (told.edges != nullptr) *told.edges = capture.told_edges.data();
  if (told.count != nullptr) *told.count = capture.told.size();
  return CUDA_SUCCESS;
}

CUresult capture_info(const char* name, DefaultStream zero, CUstream handle, const Told& told) {
  return on_stream(name, handle, zero, given(told.status), [&](Call&, const StreamPtr& stream) {
    const CUresult refused = refuse_implicit(*stream, true);
    return refused == CUDA_SUCCESS ? tell(*stream, told) : refused;
  });
}

// Nodes by handle; false: one of them is invalid.
bool find_nodes(Call& call, const CUgraphNode* handles, std::size_t count,
                std::vector<NodePtr>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const NodePtr node = call.driver.nodes.find(handles[i]);
    if (!node) return false;
    out.push_back(node);
  }
  return true;
}

}  // namespace

CUDA_API_TWINS(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, (CUstream handle), (handle)) {
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return begin(call, stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
  });
}
CUDA_API_TWINS(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz,
               (CUstream handle, CUstreamCaptureMode mode), (handle, mode)) {
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return begin(call, stream, mode, nullptr, {});
  });
}
CUDA_API_TWINS(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz,
               (CUstream handle, CUgraph graph_handle, const CUgraphNode* dependencies,
                [[maybe_unused]] const CUgraphEdgeData* edges, std::size_t count,
                CUstreamCaptureMode mode),
               (handle, graph_handle, dependencies, edges, count, mode)) {
  const bool arguments = count == 0 || given(dependencies);
  return on_stream(function, handle, zero, arguments, [&](Call& call, const StreamPtr& stream) {
    const GraphPtr graph = call.driver.graphs.find(graph_handle);
    std::vector<NodePtr> after;
    if (!graph || !find_nodes(call, dependencies, count, after)) return CUDA_ERROR_INVALID_VALUE;
    return begin(call, stream, mode, graph, std::move(after));
  });
}
CUDA_API_TWINS(cuStreamEndCapture, cuStreamEndCapture_ptsz, (CUstream handle, CUgraph* out),
               (handle, out)) {
  return on_stream(function, handle, zero, given(out),
                   [&](Call& call, const StreamPtr& stream) { return end(call, stream, out); });
}

CUDA_API_TWINS(cuStreamIsCapturing, cuStreamIsCapturing_ptsz,
               (CUstream handle, CUstreamCaptureStatus* status), (handle, status)) {
  return capture_info(function, zero, handle, {.status = status});
}
CUDA_API_TWINS(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz,
               (CUstream handle, CUstreamCaptureStatus* status, std::uint64_t* id),
               (handle, status, id)) {
  return capture_info(function, zero, handle, {.status = status, .id = id});
}
CUDA_API_TWINS(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz,
               (CUstream handle, CUstreamCaptureStatus* status, std::uint64_t* id, CUgraph* graph,
                const CUgraphNode** dependencies, std::size_t* count),
               (handle, status, id, graph, dependencies, count)) {
  return capture_info(
      function, zero, handle,
      {.status = status, .id = id, .graph = graph, .dependencies = dependencies, .count = count});
}
CUDA_API_TWINS(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz,
               (CUstream handle, CUstreamCaptureStatus* status, std::uint64_t* id, CUgraph* graph,
                const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                std::size_t* count),
               (handle, status, id, graph, dependencies, edges, count)) {
  return capture_info(function, zero, handle,
                      {.status = status,
                       .id = id,
                       .graph = graph,
                       .dependencies = dependencies,
                       .edges = edges,
                       .count = count});
}

CUDA_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return on_driver(__func__, given(mode) && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED, [&](Call&) {
    std::swap(*mode, thread_mode);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
