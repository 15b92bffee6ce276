#include "sim/cuda/graph.h"

#include <algorithm>
#include <map>

#include "sim/cuda/library.h"

namespace tranche::sim::cuda {

NodePtr add_node(Call& call, const GraphPtr& graph, Work work, std::vector<Node*> after) {
  auto node = std::make_shared<Node>();
  node->graph = graph;
  node->work = std::move(work);
  node->after = std::move(after);
  node = call.driver.nodes.add(std::move(node));
  graph->nodes.push_back(node);
  return node;
}

CUgraphNodeType type_of(const Work& work) {
  struct Type {
    CUgraphNodeType operator()(const KernelWork&) { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(const CopyWork&) { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(const SetWork&) { return CU_GRAPH_NODE_TYPE_MEMSET; }
    CUgraphNodeType operator()(const HostWork&) { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(const RecordWork&) { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
    CUgraphNodeType operator()(const WaitWork&) { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
    CUgraphNodeType operator()(const AllocWork&) { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
    CUgraphNodeType operator()(const FreeWork&) { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
    CUgraphNodeType operator()(const MemOpWork&) { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
    CUgraphNodeType operator()(const ChildWork&) { return CU_GRAPH_NODE_TYPE_GRAPH; }
    CUgraphNodeType operator()(const ConditionalWork&) { return CU_GRAPH_NODE_TYPE_CONDITIONAL; }
    CUgraphNodeType operator()(const EmptyWork&) { return CU_GRAPH_NODE_TYPE_EMPTY; }
  };
  return std::visit(Type(), work);
}

bool sort_nodes(const Graph& graph, std::vector<NodePtr>& out) {
  std::map<const Node*, std::size_t> waiting;
  for (const NodePtr& node : graph.nodes) waiting[node.get()] = node->after.size();
  out.clear();
  // Again and again through those that are left, in the order they were added.
  std::vector<NodePtr> left = graph.nodes;
  while (!left.empty()) {
    const std::size_t before = left.size();
    std::erase_if(left, [&](const NodePtr& node) {
      if (waiting[node.get()] > 0) return false;
      out.push_back(node);
      for (const NodePtr& other : graph.nodes) {
        waiting[other.get()] -=
            static_cast<std::size_t>(std::ranges::count(other->after, node.get()));
      }
      return true;
    });
    if (left.size() == before) return false;
  }
  return true;
}

GraphPtr clone_graph(Call& call, const Graph& graph) {
  auto clone = call.driver.graphs.add(std::make_shared<Graph>());
  std::map<const Node*, Node*> twins;
  for (const NodePtr& node : graph.nodes) {
    twins[node.get()] = add_node(call, clone, own_copy(call, node->work), {}).get();
  }
  for (const NodePtr& node : graph.nodes) {
    for (const Node* const before : node->after) {
      twins[node.get()]->after.push_back(twins[before]);
    }
  }
  return clone;
}

Work own_copy(Call& call, const Work& work) {
  Work copy = work;
  if (auto* const child = std::get_if<ChildWork>(&copy)) {
    child->graph = clone_graph(call, *child->graph);
  }
  if (auto* const conditional = std::get_if<ConditionalWork>(&copy)) {
    for (GraphPtr& body : conditional->bodies) {
      body = clone_graph(call, *body);
      body->is_body = true;
    }
    conditional->told = nullptr;
  }
  return copy;
}

void destroy_within(Driver& driver, const Work& work) {
  if (const auto* const child = std::get_if<ChildWork>(&work)) destroy_graph(driver, child->graph);
  if (const auto* const conditional = std::get_if<ConditionalWork>(&work)) {
    for (const GraphPtr& body : conditional->bodies) destroy_graph(driver, body);
  }
}

void destroy_graph(Driver& driver, const GraphPtr& graph) {
  for (const NodePtr& node : graph->nodes) {
    destroy_within(driver, node->work);
    driver.nodes.erase(*node);
  }
  driver.graphs.erase(*graph);
}

}  // namespace tranche::sim::cuda
