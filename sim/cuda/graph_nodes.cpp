// Nodes of graphs: added, their parameters read.

#include "sim/cuda/conditional.h"
#include "sim/cuda/graph_calls.h"

namespace tranche::sim::cuda {
namespace {

// The nodes named as dependencies. False: one is not in this graph.
bool find_after(Call& call, const GraphPtr& graph, const CUgraphNode* handles, std::size_t count,
                std::vector<Node*>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const NodePtr node = call.driver.nodes.find(handles[i]);
    if (!node || node->graph.lock() != graph) return false;
    out.push_back(node.get());
  }
  return true;
}

struct Place {
  CUgraphNode* out = nullptr;
  CUgraph graph = nullptr;
  const CUgraphNode* after = nullptr;
  std::size_t count = 0;
};

// `make` takes the Call and the Work to fill.
template <class Make>
CUresult add(const char* name, const Place& place, bool arguments_given, Make make) {
  const bool arguments =
      arguments_given && given(place.out) && (place.count == 0 || place.after != nullptr);
  return on_graph(name, place.graph, arguments, [&](Call& call, const GraphPtr& graph) {
    std::vector<Node*> after;
    if (!find_after(call, graph, place.after, place.count, after)) return CUDA_ERROR_INVALID_VALUE;
    if (!call.context) return CUDA_ERROR_INVALID_CONTEXT;
    Work work;
    const CUresult made = make(call, work);
    if (made != CUDA_SUCCESS) return made;
    *place.out = handle_of<CUgraphNode>(*add_node(call, graph, std::move(work), std::move(after)));
    return CUDA_SUCCESS;
  });
}

template <class Parameters>
CUresult add_described(const char* name, const Place& place, const Parameters* parameters) {
  return add(name, place, given(parameters),
             [&](Call& call, Work& work) { return work_of(call, *parameters, work); });
}

// A graph with conditional nodes cannot be used in a child node.
CUresult child_of(Call& call, CUgraph child, Work& work) {
  const GraphPtr found = call.driver.graphs.find(child);
  if (!found || has_conditionals(*found)) return CUDA_ERROR_INVALID_VALUE;
  work = ChildWork{clone_graph(call, *found)};
  return CUDA_SUCCESS;
}

CUresult add_any(const char* name, const Place& place, CUgraphNodeParams* p) {
  return add(name, place, given(p), [&](Call& call, Work& work) {
    switch (p->type) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        return work_of(call, p->kernel, work);
      case CU_GRAPH_NODE_TYPE_HOST:
        return work_of(call, p->host, work);
      case CU_GRAPH_NODE_TYPE_GRAPH:
        // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE
        return p->graph.ownership == 0 ? child_of(call, p->graph.graph, work)
                                       : CUDA_ERROR_NOT_SUPPORTED;
      case CU_GRAPH_NODE_TYPE_EMPTY:
        work = EmptyWork{};
        return CUDA_SUCCESS;
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return make_conditional(call, call.driver.graphs.find(place.graph), p->conditional, work);
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  });
}

// `tell` receives the node's work, if it is of this kind.
template <class Kind, class Tell>
CUresult get(const char* name, CUgraphNode handle, bool arguments_given, Tell tell) {
  return on_node(name, handle, arguments_given, [&](Call&, const NodePtr& node) {
    auto* const work = std::get_if<Kind>(&node->work);
    if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
    tell(*work);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                       std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                          std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* p) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                     std::size_t count, const CUDA_HOST_NODE_PARAMS_v1* p) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph,
                                           const CUgraphNode* after, std::size_t count,
                                           CUgraph child) {
  return add(__func__, {out, graph, after, count}, true,
             [&](Call& call, Work& work) { return child_of(call, child, work); });
}
CUDA_API CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                 std::size_t count, CUgraphNodeParams* p) {
  return add_any(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                    const CUgraphEdgeData*, std::size_t count,
                                    CUgraphNodeParams* p) {
  return add_any(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddNode_v3(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                    const CUgraphEdgeData*, std::size_t count,
                                    CUgraphNodeParams* p) {
  return add_any(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                         std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS_v1* p) {
  return add(__func__, {out, graph, after, count}, given(p), [&](Call& call, Work& work) {
    AllocWork allocation{.parameters = *p};
    const CUresult reserved = reserve_graph_memory(call, allocation);
    if (reserved != CUDA_SUCCESS) return reserved;
    p->dptr = allocation.parameters.dptr;
    work = std::move(allocation);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return get<KernelWork>(__func__, node, given(out),
                         [&](KernelWork& kernel) { *out = old_parameters_of(kernel); });
}
CUDA_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out) {
  return get<KernelWork>(__func__, node, given(out),
                         [&](KernelWork& kernel) { *out = parameters_of(kernel); });
}
CUDA_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                               CUDA_MEM_ALLOC_NODE_PARAMS_v1* out) {
  return get<AllocWork>(__func__, node, given(out),
                        [&](const AllocWork& work) { *out = work.parameters; });
}
CUDA_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  return get<ChildWork>(__func__, node, given(out),
                        [&](const ChildWork& child) { *out = handle_of<CUgraph>(*child.graph); });
}

}  // namespace tranche::sim::cuda
