// Graphs: made, looked through.

#include <algorithm>

#include "sim/cuda/graph_calls.h"

namespace tranche::sim::cuda {
namespace {

template <class Handles>
CUresult give_handles(const std::vector<const Node*>& nodes, Handles* out, std::size_t* count) {
  if (out == nullptr) {
    *count = nodes.size();
    return CUDA_SUCCESS;
  }
  // What there is room for beyond them is set to nothing.
  for (std::size_t i = 0; i < *count; ++i) {
    out[i] = i < nodes.size() ? handle_of<CUgraphNode>(*nodes[i]) : nullptr;
  }
  *count = std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

CUresult get_edges(const char* name, CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                   CUgraphEdgeData* data, std::size_t* count) {
  const bool arguments = given(count) && (from == nullptr) == (to == nullptr);
  return on_graph(name, handle, arguments, [&](Call&, const GraphPtr& graph) {
    std::vector<const Node*> begins;
    std::vector<const Node*> ends;
    for (const NodePtr& node : graph->nodes) {
      for (const Node* const before : node->after) {
        begins.push_back(before);
        ends.push_back(node.get());
      }
    }
    std::size_t again = *count;
    if (data != nullptr) std::fill_n(data, std::min(again, begins.size()), CUgraphEdgeData{});
    std::ignore = give_handles(begins, from, count);
    return to == nullptr ? CUDA_SUCCESS : give_handles(ends, to, &again);
  });
}

CUresult add_edges(const char* name, CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                   std::size_t count) {
  const bool arguments = count == 0 || given(from, to);
  return on_graph(name, handle, arguments, [&](Call& call, const GraphPtr& graph) {
    for (std::size_t i = 0; i < count; ++i) {
      const NodePtr before = call.driver.nodes.find(from[i]);
      const NodePtr node = call.driver.nodes.find(to[i]);
      const bool good = before && node && before != node && before->graph.lock() == graph &&
                        node->graph.lock() == graph;
      if (!good || std::ranges::find(node->after, before.get()) != node->after.end()) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      node->after.push_back(before.get());
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
  return on_driver(__func__, given(out) && flags == 0, [&](Call& call) {
    *out = handle_of<CUgraph>(*call.driver.graphs.add(std::make_shared<Graph>()));
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphDestroy(CUgraph handle) {
  return on_graph(__func__, handle, true, [&](Call& call, const GraphPtr& graph) {
    if (graph->is_body) return CUDA_ERROR_INVALID_VALUE;  // it is its node's
    destroy_graph(call.driver, graph);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* out, std::size_t* count) {
  return on_graph(__func__, handle, given(count), [&](Call&, const GraphPtr& graph) {
    std::vector<const Node*> nodes;
    for (const NodePtr& node : graph->nodes) nodes.push_back(node.get());
    return give_handles(nodes, out, count);
  });
}

CUDA_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                  std::size_t* count) {
  return get_edges(__func__, graph, from, to, nullptr, count);
}
CUDA_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                     CUgraphEdgeData* data, std::size_t* count) {
  return get_edges(__func__, graph, from, to, data, count);
}
CUDA_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                         const CUgraphNode* to, std::size_t count) {
  return add_edges(__func__, graph, from, to, count);
}
CUDA_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                            const CUgraphNode* to, const CUgraphEdgeData*,
                                            std::size_t count) {
  return add_edges(__func__, graph, from, to, count);
}

CUDA_API CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return on_node(__func__, handle, given(type), [&](Call&, const NodePtr& node) {
    *type = type_of(node->work);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
