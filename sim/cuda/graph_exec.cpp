// Executable graphs: instantiated, changed, launched.

#include <algorithm>

#include "sim/cuda/constant.h"
#include "sim/cuda/events.h"
#include "sim/cuda/graph_calls.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

CUresult make(const char* name, CUgraphExec* out, CUgraph handle, std::uint64_t flags) {
  return on_graph(name, handle, given(out), [&](Call& call, const GraphPtr& graph) {
    if (!call.context) return CUDA_ERROR_INVALID_CONTEXT;
    ExecPtr exec;
    const CUresult made = instantiate(call, graph, flags, exec);
    if (made == CUDA_SUCCESS) *out = handle_of<CUgraphExec>(*exec);
    return made;
  });
}

// Neighbouring kernels are one piece of work: a graph takes one place in the hardware's queue.
CUresult launch(Call& call, const StreamPtr& stream, const Exec& exec) {
  const ContextPtr context = stream->context.lock();
  if ((exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0) {
    free_graph_memory(call.driver, exec);
  }
  std::uint64_t kernel_ns = 0;
  bool has_kernels = false;
  const auto flush = [&] {
    if (!has_kernels) return;
    auto op = std::make_shared<Op>();
    op->kind = Op::Kind::kWork;
    op->duration_ns = kernel_ns;
    call.driver.executor.enqueue(call.lock, stream, op);
    has_kernels = false;
    kernel_ns = 0;
  };
  for (const ExecNode& node : exec.nodes) {
    if (std::holds_alternative<EmptyWork>(node.work)) continue;
    if (const auto* const kernel = std::get_if<KernelWork>(&node.work)) {
      make_parameters_resident(call, context->device, *kernel);
      kernel_ns += duration_ns(*context, *kernel);
      has_kernels = true;
      continue;
    }
    flush();
    const CUresult done = run(call, stream, node.work);
    if (done != CUDA_SUCCESS) return done;
  }
  flush();
  return CUDA_SUCCESS;
}

ExecNode* find_exec_node(Call& call, Exec& exec, CUgraphNode handle) {
  const NodePtr node = call.driver.nodes.find(handle);
  if (!node) return nullptr;
  const auto found = std::ranges::find(exec.nodes, node->number, &ExecNode::origin);
  return found == exec.nodes.end() ? nullptr : &*found;
}

// New parameters for a node of an executable graph; its kind stays.
template <class Parameters>
CUresult set(const char* name, CUgraphExec handle, CUgraphNode node, const Parameters* parameters) {
  return on_exec(name, handle, given(parameters), [&](Call& call, const ExecPtr& exec) {
    ExecNode* const found = find_exec_node(call, *exec, node);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Work work;
    const CUresult made = work_of(call, *parameters, work);
    if (made != CUDA_SUCCESS) return made;
    if (type_of(work) != type_of(found->work)) return CUDA_ERROR_INVALID_VALUE;
    found->work = std::move(work);
    return CUDA_SUCCESS;
  });
}

// The graph must be the one it was made from, with other parameters: the same nodes in the same
// order.
CUresult update(Call& call, Exec& exec, const Graph& graph, CUgraphExecUpdateResultInfo& info) {
  std::vector<NodePtr> order;
  info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
  if (!sort_nodes(graph, order) || order.size() != exec.nodes.size()) {
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (type_of(order[i]->work) == type_of(exec.nodes[i].work)) continue;
    info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
            .errorNode = handle_of<CUgraphNode>(*order[i])};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    Work work = order[i]->work;
    if (auto* const child = std::get_if<ChildWork>(&work)) {
      child->graph = clone_graph(call, *child->graph);
    }
    exec.nodes[i].origin = order[i]->number;
    exec.nodes[i].work = std::move(work);
  }
  info = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
  return CUDA_SUCCESS;
}

CUresult launch_graph(const char* name, DefaultStream zero, CUgraphExec handle, CUstream stream) {
  return on_stream(name, stream, zero, true, [&](Call& call, const StreamPtr& found) {
    const ExecPtr exec = call.driver.execs.find(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    if (!found->capture) return launch(call, found, *exec);
    // A launch in a capturing stream becomes a child graph.
    const GraphPtr child = call.driver.graphs.add(std::make_shared<Graph>());
    std::vector<Node*> before;
    for (const ExecNode& node : exec->nodes) {
      before = {add_node(call, child, node.work, before).get()};
    }
    return perform(call, found, ChildWork{child});
  });
}

}  // namespace

CUDA_API CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*,
                                     std::size_t) {
  return make(__func__, out, graph, 0);
}
CUDA_API CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode*, char*,
                                        std::size_t) {
  return make(__func__, out, graph, 0);
}
CUDA_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph,
                                              unsigned long long flags) {
  return make(__func__, out, graph, flags);
}
CUDA_API_TWINS(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz,
               (CUgraphExec * out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
               (out, graph, parameters)) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult made = make(function, out, graph, parameters->flags);
  parameters->hErrNode_out = nullptr;
  parameters->result_out =
      made == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return made;
}

CUDA_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return on_exec(__func__, handle, true, [&](Call& call, const ExecPtr& exec) {
    call.driver.execs.erase(*exec);
    return CUDA_SUCCESS;
  });
}

CUDA_API_TWINS(cuGraphUpload, cuGraphUpload_ptsz, (CUgraphExec handle, CUstream stream),
               (handle, stream)) {
  return on_stream(function, stream, zero, true, [&](Call& call, const StreamPtr&) {
    return call.driver.execs.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
CUDA_API_TWINS(cuGraphLaunch, cuGraphLaunch_ptsz, (CUgraphExec handle, CUstream stream),
               (handle, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return launch_graph(function, zero, handle, stream);
}

CUDA_API CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph graph_handle, CUgraphNode* node,
                                    CUgraphExecUpdateResult* result) {
  return on_exec(__func__, handle, given(result), [&](Call& call, const ExecPtr& exec) {
    const GraphPtr graph = call.driver.graphs.find(graph_handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    CUgraphExecUpdateResultInfo info = {};
    const CUresult updated = update(call, *exec, *graph, info);
    *result = info.result;
    if (node != nullptr) *node = info.errorNode;
    return updated;
  });
}
CUDA_API CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                                       CUgraphExecUpdateResultInfo* info) {
  return on_exec(__func__, handle, given(info), [&](Call& call, const ExecPtr& exec) {
    const GraphPtr graph = call.driver.graphs.find(graph_handle);
    return graph ? update(call, *exec, *graph, *info) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUDA_API CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                 const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return set(__func__, exec, node, parameters);
}
CUDA_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                    const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  return set(__func__, exec, node, parameters);
}

}  // namespace tranche::sim::cuda
