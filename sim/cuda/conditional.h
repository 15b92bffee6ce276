#pragma once
// Conditionals: values that kernels set on the GPU, and by which a node of a graph runs one of its
// bodies, none, or one again and again.
//
// A value is looked at when the stream comes to the node, and not at the launch. There is one value
// for each handle, as there may be but one executable graph of a graph with conditional nodes.
// Rules are those of cuda.h at CUDA_CONDITIONAL_NODE_PARAMS and CU_GRAPH_NODE_TYPE_CONDITIONAL. It
// does not tell when a body is looked at: here at instantiation. The driver's lock is held.

#include "sim/cuda/graph.h"
#include "sim/cuda/library.h"

namespace tranche::sim::cuda {

struct Conditional {
  std::uint64_t number = 0;  // the handle
  std::weak_ptr<Graph> graph;
  std::weak_ptr<Context> context;
  unsigned first_value = 0;
  bool has_default = false;  // first_value is set at each launch
  unsigned value = 0;
  bool has_node = false;
  std::weak_ptr<Exec> exec;
};
using ConditionalPtr = std::shared_ptr<Conditional>;

// A node's work with new bodies, of which it tells. INVALID_VALUE.
CUresult make_conditional(Call& call, const GraphPtr& graph, CUDA_CONDITIONAL_NODE_PARAMS& p,
                          Work& out);
// With those of child graphs.
bool has_conditionals(const Graph& graph);
// Can there be an executable of it?
CUgraphInstantiateResult check_conditionals(const Graph& graph);
// The executable's conditionals, of all its nodes as they are now.
void take_conditionals(const ExecPtr& exec);
// How an executable's node may not become the graph's one; SUCCESS: it may.
CUgraphExecUpdateResult compare(const Work& before, const Work& after);

// Which body comes next. nullptr: none.
GraphPtr chosen_body(const ConditionalWork& work);
// Neighbouring kernels as one piece of work: a graph takes one place in the hardware's queue.
class KernelRun {
 public:
  KernelRun(Driver& driver, const Context& context) : driver_(driver), context_(context) {}
  void add(const KernelWork& kernel);
  // All since the last time. nullptr: there was none.
  OpPtr take();

 private:
  Driver& driver_;
  const Context& context_;
  OpPtr op_;
  std::vector<std::function<void()>> setters_;
};

// What the kernel sets at its end; empty: nothing.
std::function<void()> setter_of(Driver& driver, const Context& context, const KernelWork& kernel);

}  // namespace tranche::sim::cuda
