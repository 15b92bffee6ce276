// Nodes of graphs: added, their parameters read and changed.

#include "sim/cuda/events.h"
#include "sim/cuda/graph_calls.h"

namespace tranche::sim::cuda {
namespace {

// The nodes named as dependencies. False: one is none of this graph.
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

template <class Parameters>
CUresult set(const char* name, CUgraphNode handle, const Parameters* parameters) {
  return on_node(name, handle, given(parameters), [&](Call& call, const NodePtr& node) {
    if (!call.context) return CUDA_ERROR_INVALID_CONTEXT;
    Work work;
    const CUresult made = work_of(call, *parameters, work);
    if (made != CUDA_SUCCESS) return made;
    if (type_of(work) != type_of(node->work)) return CUDA_ERROR_INVALID_VALUE;
    node->work = std::move(work);
    return CUDA_SUCCESS;
  });
}

// `tell` takes the node's work, when it is of this kind.
template <class Kind, class Tell>
CUresult get(const char* name, CUgraphNode handle, bool arguments_given, Tell tell) {
  return on_node(name, handle, arguments_given, [&](Call&, const NodePtr& node) {
    auto* const work = std::get_if<Kind>(&node->work);
    if (work == nullptr) return CUDA_ERROR_INVALID_VALUE;
    tell(*work);
    return CUDA_SUCCESS;
  });
}

CUresult add_any(const char* name, const Place& place, CUgraphNodeParams* parameters) {
  return add(name, place, given(parameters),
             [&](Call& call, Work& work) { return work_of(call, *parameters, work); });
}

CUresult set_any(const char* name, CUgraphNode handle, CUgraphNodeParams* parameters) {
  return on_node(name, handle, given(parameters), [&](Call& call, const NodePtr& node) {
    if (!call.context) return CUDA_ERROR_INVALID_CONTEXT;
    if (parameters->type != type_of(node->work)) return CUDA_ERROR_INVALID_VALUE;
    return work_of(call, *parameters, node->work);
  });
}

CUgraphNodeParams event_parameters(CUgraphNodeType type, CUevent event) {
  CUgraphNodeParams parameters = {};
  parameters.type = type;
  parameters.eventWait.event = event;
  return parameters;
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
CUDA_API CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                       std::size_t count, const CUDA_MEMCPY3D* p, CUcontext) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                       std::size_t count, const CUDA_MEMSET_NODE_PARAMS_v1* p,
                                       CUcontext) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                     std::size_t count, const CUDA_HOST_NODE_PARAMS_v1* p) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph,
                                           const CUgraphNode* after, std::size_t count,
                                           const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return add_described(__func__, {out, graph, after, count}, p);
}
CUDA_API CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                      std::size_t count) {
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_EMPTY;
  return add_any(__func__, {out, graph, after, count}, &parameters);
}
CUDA_API CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph,
                                           const CUgraphNode* after, std::size_t count,
                                           CUgraph child) {
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
  parameters.graph.graph = child;
  return add_any(__func__, {out, graph, after, count}, &parameters);
}
CUDA_API CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph,
                                            const CUgraphNode* after, std::size_t count,
                                            CUevent event) {
  auto parameters = event_parameters(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return add_any(__func__, {out, graph, after, count}, &parameters);
}
CUDA_API CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                          std::size_t count, CUevent event) {
  auto parameters = event_parameters(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return add_any(__func__, {out, graph, after, count}, &parameters);
}
CUDA_API CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                         std::size_t count, CUDA_MEM_ALLOC_NODE_PARAMS_v1* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  parameters.alloc = *p;
  const CUresult added = add_any(__func__, {out, graph, after, count}, &parameters);
  p->dptr = parameters.alloc.dptr;
  return added;
}
CUDA_API CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                        std::size_t count, CUdeviceptr address) {
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  parameters.free.dptr = address;
  return add_any(__func__, {out, graph, after, count}, &parameters);
}
CUDA_API CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                 std::size_t count, CUgraphNodeParams* parameters) {
  return add_any(__func__, {out, graph, after, count}, parameters);
}
CUDA_API CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                    const CUgraphEdgeData*, std::size_t count,
                                    CUgraphNodeParams* parameters) {
  return add_any(__func__, {out, graph, after, count}, parameters);
}
CUDA_API CUresult cuGraphAddNode_v3(CUgraphNode* out, CUgraph graph, const CUgraphNode* after,
                                    const CUgraphEdgeData*, std::size_t count,
                                    CUgraphNodeParams* parameters) {
  return add_any(__func__, {out, graph, after, count}, parameters);
}

CUDA_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  return set_any(__func__, node, parameters);
}
CUDA_API CUresult cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* parameters) {
  return set_any(__func__, node, parameters);
}
CUDA_API CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                             const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  return set(__func__, node, parameters);
}
CUDA_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  return set(__func__, node, parameters);
}
CUDA_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* parameters) {
  return set(__func__, node, parameters);
}
CUDA_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                             const CUDA_MEMSET_NODE_PARAMS_v1* parameters) {
  return set(__func__, node, parameters);
}
CUDA_API CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                           const CUDA_HOST_NODE_PARAMS_v1* parameters) {
  return set(__func__, node, parameters);
}
CUDA_API CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                                 const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  return set(__func__, node, parameters);
}
CUDA_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  auto parameters = event_parameters(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return set_any(__func__, node, &parameters);
}
CUDA_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  auto parameters = event_parameters(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return set_any(__func__, node, &parameters);
}

CUDA_API CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return get<KernelWork>(__func__, node, given(out),
                         [&](KernelWork& kernel) { *out = old_parameters_of(kernel); });
}
CUDA_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out) {
  return get<KernelWork>(__func__, node, given(out),
                         [&](KernelWork& kernel) { *out = parameters_of(kernel); });
}
CUDA_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* out) {
  return get<CopyWork>(__func__, node, given(out),
                       [&](const CopyWork& copy) { *out = copy.described; });
}
CUDA_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS_v1* out) {
  return get<SetWork>(__func__, node, given(out),
                      [&](const SetWork& work) { *out = parameters_of(work); });
}
CUDA_API CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS_v1* out) {
  return get<HostWork>(__func__, node, given(out),
                       [&](const HostWork& host) { *out = parameters_of(host); });
}
CUDA_API CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
                                               CUDA_MEM_ALLOC_NODE_PARAMS_v1* out) {
  return get<AllocWork>(__func__, node, given(out),
                        [&](const AllocWork& work) { *out = work.parameters; });
}
CUDA_API CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* out) {
  return get<FreeWork>(__func__, node, given(out),
                       [&](const FreeWork& work) { *out = work.address; });
}
CUDA_API CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node,
                                                 CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  return get<MemOpWork>(__func__, node, given(out), [&](MemOpWork& work) {
    *out = {.count = static_cast<unsigned>(work.operations.size()),
            .paramArray = work.operations.data()};
  });
}
CUDA_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  return get<ChildWork>(__func__, node, given(out),
                        [&](const ChildWork& child) { *out = handle_of<CUgraph>(*child.graph); });
}
CUDA_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return get<RecordWork>(__func__, node, given(out),
                         [&](const RecordWork& work) { *out = handle_of<CUevent>(*work.event); });
}
CUDA_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return get<WaitWork>(__func__, node, given(out),
                       [&](const WaitWork& work) { *out = handle_of<CUevent>(*work.event); });
}

}  // namespace tranche::sim::cuda
