#pragma once
// Calls about a graph, a node or an executable graph: entry into the driver with the object
// resolved.

#include "sim/cuda/graph_parameters.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {

// `answer` takes the Call and the graph; the node; the executable graph.
template <class Function>
CUresult on_graph(const char* name, CUgraph handle, bool arguments_given, Function answer) {
  return on_driver(name, arguments_given, [&](Call& call) {
    // The current context, for objects created in one; it is optional.
    std::ignore = call.driver.current_context(call.context);
    const GraphPtr graph = call.driver.graphs.find(handle);
    return graph ? answer(call, graph) : CUDA_ERROR_INVALID_VALUE;
  });
}
template <class Function>
CUresult on_node(const char* name, CUgraphNode handle, bool arguments_given, Function answer) {
  return on_driver(name, arguments_given, [&](Call& call) {
    std::ignore = call.driver.current_context(call.context);
    const NodePtr node = call.driver.nodes.find(handle);
    return node && node->graph.lock() ? answer(call, node) : CUDA_ERROR_INVALID_VALUE;
  });
}
template <class Function>
CUresult on_exec(const char* name, CUgraphExec handle, bool arguments_given, Function answer) {
  return on_context(name, arguments_given, [&](Call& call, Context&) {
    const ExecPtr exec = call.driver.execs.find(handle);
    return exec ? answer(call, exec) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace tranche::sim::cuda
