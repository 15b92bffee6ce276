#pragma once
// Graphs: work with dependencies that is assembled first and launched later, any number of times.
//
// A launch puts the nodes into one stream in an order that respects all dependencies. Branches do
// not run concurrently, because kernels of one context do not (README). The driver's lock is held.

#include <memory>
#include <optional>
#include <vector>

#include "sim/cuda/abi_graph.h"
#include "sim/cuda/address_space.h"
#include "sim/cuda/stream.h"
#include "sim/cuda/work.h"

namespace tranche::sim::cuda {

struct Call;
struct Context;
struct Driver;
struct Graph;

struct Node {
  std::uint64_t number = 0;
  std::weak_ptr<Graph> graph;
  Work work;
  std::vector<Node*> after;  // in the same graph, while it exists
};
using NodePtr = std::shared_ptr<Node>;

struct Graph {
  std::uint64_t number = 0;
  std::vector<NodePtr> nodes;                              // in insertion order
  std::vector<std::shared_ptr<Conditional>> conditionals;  // those whose handles were made for it
  bool is_body = false;                                    // of a conditional node
  std::weak_ptr<Graph> parent;                             // the graph with the node, for a body
};
using GraphPtr = std::shared_ptr<Graph>;

struct ExecNode {
  std::uint64_t origin = 0;  // number of the node it was made from
  Work work;
};
struct Exec {
  std::uint64_t number = 0;
  std::uint64_t flags = 0;
  std::weak_ptr<Context> context;
  std::vector<ExecNode> nodes;  // in an order that respects all dependencies
  std::vector<std::shared_ptr<Conditional>> conditionals;  // of all nodes, nested ones too
  OpPtr last;  // the end of its last launch, if it has conditionals
};
using ExecPtr = std::shared_ptr<Exec>;

// Memory allocated by a graph: its address is fixed when the node is created, its pages come with
// the first launch and stay until cuDeviceGraphMemTrim.
struct GraphMemory {
  Driver* driver = nullptr;
  Device* device = nullptr;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // whole pages
  std::shared_ptr<Block> block;
  bool is_live = false;  // allocated by a launch, not freed yet
  ~GraphMemory();
};

// A new node after `after`. Its handle is valid from then on.
NodePtr add_node(Call& call, const GraphPtr& graph, Work work, std::vector<Node*> after);
abi::CUgraphNodeType type_of(const Work& work);
// Dependencies first. False: there is a cycle.
bool sort_nodes(const Graph& graph, std::vector<NodePtr>& out);
GraphPtr clone_graph(Call& call, const Graph& graph);
// Including copies of its child and its bodies.
Work own_copy(Call& call, const Work& work);
// Invalidates the nodes of its child and its bodies.
void destroy_within(Driver& driver, const Work& work);
void destroy_graph(Driver& driver, const GraphPtr& graph);

// Reserves an address for a graph's allocation. OUT_OF_MEMORY, INVALID_VALUE.
abi::CUresult reserve_graph_memory(Call& call, AllocWork& allocation);
// Maps pages for it. OUT_OF_MEMORY; INVALID_VALUE while it is live.
abi::CUresult map_graph_memory(Call& call, const AllocWork& allocation);
// Frees what the graph's launches left allocated.
void free_graph_memory(Driver& driver, const Exec& exec);

}  // namespace tranche::sim::cuda
