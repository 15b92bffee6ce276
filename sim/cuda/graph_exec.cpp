// Executable graphs: instantiated, changed, launched.

#include <algorithm>

#include "sim/cuda/capture.h"
#include "sim/cuda/conditional.h"
#include "sim/cuda/constant.h"
#include "sim/cuda/events.h"
#include "sim/cuda/graph_calls.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

// INVALID_VALUE for a cycle, and for impossible conditionals; `why` explains.
CUresult instantiate(Call& call, const GraphPtr& graph, std::uint64_t flags, ExecPtr& out,
                     CUgraphInstantiateResult& why) {
  constexpr std::uint64_t kKnown = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  why = CUDA_GRAPH_INSTANTIATE_ERROR;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((flags & ~kKnown) != 0 || graph->is_body) return CUDA_ERROR_INVALID_VALUE;
  std::vector<NodePtr> order;
  why = sort_nodes(*graph, order) ? check_conditionals(*graph)
                                  : CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  if (why != CUDA_GRAPH_INSTANTIATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  auto exec = std::make_shared<Exec>();
  exec->flags = flags;
  exec->context = call.context;
  for (const NodePtr& node : order) {
    // What the graph becomes later does not reach its children here.
    exec->nodes.push_back({.origin = node->number, .work = own_copy(call, node->work)});
  }
  take_conditionals(exec);
  out = call.driver.execs.add(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult make(const char* name, CUgraphExec* out, CUgraph handle, std::uint64_t flags,
              CUgraphInstantiateResult* why = nullptr) {
  return on_graph(name, handle, given(out), [&](Call& call, const GraphPtr& graph) {
    if (!call.context) return CUDA_ERROR_INVALID_CONTEXT;
    ExecPtr exec;
    CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_ERROR;
    const CUresult made = instantiate(call, graph, flags, exec, result);
    if (why != nullptr) *why = result;
    if (made == CUDA_SUCCESS) *out = handle_of<CUgraphExec>(*exec);
    return made;
  });
}

// For a graph with conditionals: after its last launch, in whatever stream, with their values set.
void begin_conditionals(Call& call, const StreamPtr& stream, const Exec& exec) {
  auto op = std::make_shared<Op>();
  if (exec.last && !exec.last->is_done()) op->after.push_back(exec.last);
  op->settle = [conditionals = exec.conditionals] {
    for (const ConditionalPtr& one : conditionals) {
      if (one->has_default) one->value = one->first_value;
    }
  };
  call.driver.executor.enqueue(call.lock, stream, op);
}

CUresult launch(Call& call, const StreamPtr& stream, Exec& exec) {
  const ContextPtr context = stream->context.lock();
  if ((exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0) {
    free_graph_memory(call.driver, exec);
  }
  if (!exec.conditionals.empty()) begin_conditionals(call, stream, exec);
  KernelRun kernels(call.driver, *context);
  const auto flush = [&] {
    if (const OpPtr op = kernels.take()) call.driver.executor.enqueue(call.lock, stream, op);
  };
  for (const ExecNode& node : exec.nodes) {
    if (std::holds_alternative<EmptyWork>(node.work)) continue;
    if (const auto* const kernel = std::get_if<KernelWork>(&node.work)) {
      make_parameters_resident(call, context->device, *kernel);
      kernels.add(*kernel);
      continue;
    }
    flush();
    const CUresult done = run(call, stream, node.work);
    if (done != CUDA_SUCCESS) return done;
  }
  flush();
  if (!exec.conditionals.empty()) return run(call, stream, EmptyWork{}, &exec.last);
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
// order, in bodies too.
CUresult update(Call& call, const ExecPtr& exec, const Graph& graph,
                CUgraphExecUpdateResultInfo& info) {
  std::vector<NodePtr> order;
  info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED};
  if (!sort_nodes(graph, order) || order.size() != exec->nodes.size()) {
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto compared = compare(exec->nodes[i].work, order[i]->work);
    if (compared == CU_GRAPH_EXEC_UPDATE_SUCCESS) continue;
    info = {.result = compared, .errorNode = handle_of<CUgraphNode>(*order[i])};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    destroy_within(call.driver, exec->nodes[i].work);
    exec->nodes[i] = {.origin = order[i]->number, .work = own_copy(call, order[i]->work)};
  }
  take_conditionals(exec);
  info = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
  return CUDA_SUCCESS;
}

CUresult launch_graph(const char* name, DefaultStream zero, CUgraphExec handle, CUstream stream) {
  return on_stream(name, stream, zero, true, [&](Call& call, const StreamPtr& found) {
    const ExecPtr exec = call.driver.execs.find(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    if (!found->capture) return launch(call, found, *exec);
    // A launch in a capturing stream becomes a child graph, in which no conditional node may be.
    if (!exec->conditionals.empty()) return refuse_capturing(*found);
    const GraphPtr child = call.driver.graphs.add(std::make_shared<Graph>());
    std::vector<Node*> before;
    for (const ExecNode& node : exec->nodes) {
      before = {add_node(call, child, own_copy(call, node.work), before).get()};
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
  parameters->hErrNode_out = nullptr;
  parameters->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  return make(function, out, graph, parameters->flags, &parameters->result_out);
}

CUDA_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return on_exec(__func__, handle, true, [&](Call& call, const ExecPtr& exec) {
    for (const ExecNode& node : exec->nodes) destroy_within(call.driver, node.work);
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
    const CUresult updated = update(call, exec, *graph, info);
    *result = info.result;
    if (node != nullptr) *node = info.errorNode;
    return updated;
  });
}
CUDA_API CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                                       CUgraphExecUpdateResultInfo* info) {
  return on_exec(__func__, handle, given(info), [&](Call& call, const ExecPtr& exec) {
    const GraphPtr graph = call.driver.graphs.find(graph_handle);
    return graph ? update(call, exec, *graph, *info) : CUDA_ERROR_INVALID_VALUE;
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
