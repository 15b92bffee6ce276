// Graphs: made, cloned, looked through.

#include <algorithm>
#include <fstream>

#include "fmt/format.h"
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

CUresult get_dependencies(const char* name, CUgraphNode handle, CUgraphNode* out,
                          CUgraphEdgeData* data, std::size_t* count) {
  return on_node(name, handle, given(count), [&](Call&, const NodePtr& node) {
    if (data != nullptr) std::fill_n(data, std::min(*count, node->after.size()), CUgraphEdgeData{});
    return give_handles({node->after.begin(), node->after.end()}, out, count);
  });
}

CUresult get_dependents(const char* name, CUgraphNode handle, CUgraphNode* out,
                        CUgraphEdgeData* data, std::size_t* count) {
  return on_node(name, handle, given(count), [&](Call&, const NodePtr& node) {
    std::vector<const Node*> found;
    for (const NodePtr& other : node->graph.lock()->nodes) {
      if (std::ranges::find(other->after, node.get()) != other->after.end()) {
        found.push_back(other.get());
      }
    }
    if (data != nullptr) std::fill_n(data, std::min(*count, found.size()), CUgraphEdgeData{});
    return give_handles(found, out, count);
  });
}

CUresult change_edges(const char* name, CUgraph handle, const CUgraphNode* from,
                      const CUgraphNode* to, std::size_t count, bool add) {
  const bool arguments = count == 0 || given(from, to);
  return on_graph(name, handle, arguments, [&](Call& call, const GraphPtr& graph) {
    for (std::size_t i = 0; i < count; ++i) {
      const NodePtr before = call.driver.nodes.find(from[i]);
      const NodePtr node = call.driver.nodes.find(to[i]);
      const bool good = before && node && before != node && before->graph.lock() == graph &&
                        node->graph.lock() == graph;
      if (!good) return CUDA_ERROR_INVALID_VALUE;
      const auto known = std::ranges::find(node->after, before.get());
      if ((known != node->after.end()) == add) return CUDA_ERROR_INVALID_VALUE;
      if (add) {
        node->after.push_back(before.get());
      } else {
        node->after.erase(known);
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
  return on_driver(__func__, given(out) && flags == 0, [&](Call& call) {
    const GraphPtr graph = call.driver.graphs.add(std::make_shared<Graph>());
    graph->id = ++call.driver.last_id;
    *out = handle_of<CUgraph>(*graph);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphDestroy(CUgraph handle) {
  return on_graph(__func__, handle, true, [&](Call& call, const GraphPtr& graph) {
    destroy_graph(call.driver, graph);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphClone(CUgraph* out, CUgraph handle) {
  return on_graph(__func__, handle, given(out), [&](Call& call, const GraphPtr& graph) {
    *out = handle_of<CUgraph>(*clone_graph(call, *graph));
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphGetId(CUgraph handle, unsigned* id) {
  return on_graph(__func__, handle, given(id), [&](Call&, const GraphPtr& graph) {
    *id = static_cast<unsigned>(graph->id);
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
CUDA_API CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* out, std::size_t* count) {
  return on_graph(__func__, handle, given(count), [&](Call&, const GraphPtr& graph) {
    std::vector<const Node*> nodes;
    for (const NodePtr& node : graph->nodes) {
      if (node->after.empty()) nodes.push_back(node.get());
    }
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
CUDA_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out,
                                             std::size_t* count) {
  return get_dependencies(__func__, node, out, nullptr, count);
}
CUDA_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out,
                                                CUgraphEdgeData* data, std::size_t* count) {
  return get_dependencies(__func__, node, out, data, count);
}
CUDA_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out,
                                               std::size_t* count) {
  return get_dependents(__func__, node, out, nullptr, count);
}
CUDA_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out,
                                                  CUgraphEdgeData* data, std::size_t* count) {
  return get_dependents(__func__, node, out, data, count);
}
CUDA_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                         const CUgraphNode* to, std::size_t count) {
  return change_edges(__func__, graph, from, to, count, true);
}
CUDA_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                            const CUgraphNode* to, const CUgraphEdgeData*,
                                            std::size_t count) {
  return change_edges(__func__, graph, from, to, count, true);
}
CUDA_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                            const CUgraphNode* to, std::size_t count) {
  return change_edges(__func__, graph, from, to, count, false);
}
CUDA_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                               const CUgraphNode* to, const CUgraphEdgeData*,
                                               std::size_t count) {
  return change_edges(__func__, graph, from, to, count, false);
}

CUDA_API CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return on_node(__func__, handle, given(type), [&](Call&, const NodePtr& node) {
    *type = type_of(node->work);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphNodeGetContainingGraph(CUgraphNode handle, CUgraph* out) {
  return on_node(__func__, handle, given(out), [&](Call&, const NodePtr& node) {
    *out = handle_of<CUgraph>(*node->graph.lock());
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph handle) {
  return on_graph(__func__, handle, given(out), [&](Call& call, const GraphPtr& graph) {
    const NodePtr wanted = call.driver.nodes.find(original);
    for (const NodePtr& node : graph->nodes) {
      if (!wanted || node->cloned_from != wanted->number) continue;
      *out = handle_of<CUgraphNode>(*node);
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUDA_API CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return on_node(__func__, handle, true, [&](Call& call, const NodePtr& node) {
    const GraphPtr graph = node->graph.lock();
    for (const NodePtr& other : graph->nodes) std::erase(other->after, node.get());
    std::erase(graph->nodes, node);
    if (const auto* const child = std::get_if<ChildWork>(&node->work)) {
      destroy_graph(call.driver, child->graph);
    }
    call.driver.nodes.erase(*node);
    return CUDA_SUCCESS;
  });
}

// A drawing of nodes by number and type, and what comes after what.
CUDA_API CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned) {
  return on_graph(__func__, handle, given(path), [&](Call&, const GraphPtr& graph) {
    std::ofstream file(path);
    file << "digraph graph {\n";
    for (const NodePtr& node : graph->nodes) {
      file << fmt::format("  n{} [label=\"type {}\"];\n", node->number & 0xFFFFFFU,
                          static_cast<unsigned>(type_of(node->work)));
      for (const Node* const before : node->after) {
        file << fmt::format("  n{} -> n{};\n", before->number & 0xFFFFFFU,
                            node->number & 0xFFFFFFU);
      }
    }
    file << "}\n";
    return file.good() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

}  // namespace tranche::sim::cuda
