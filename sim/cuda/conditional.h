#pragma once
// Conditionals: values that kernels set on the GPU, which determine whether a graph node runs one
// of its bodies, none, or one repeatedly.
//
// A value is read when the stream reaches the node, not at the launch. There is one value per
// handle, because a graph with conditional nodes may have only one executable graph. The rules are
// those of cuda.h at CUDA_CONDITIONAL_NODE_PARAMS and CU_GRAPH_NODE_TYPE_CONDITIONAL. These do not
// specify when a body is read: here at instantiation. The driver's lock is held.

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

// Creates a node's work with new bodies, which it returns. INVALID_VALUE.
CUresult make_conditional(Call& call, const GraphPtr& graph, CUDA_CONDITIONAL_NODE_PARAMS& p,
                          Work& out);
// Includes those of child graphs.
bool has_conditionals(const Graph& graph);
// Whether it can be instantiated.
CUgraphInstantiateResult check_conditionals(const Graph& graph);
// The executable's conditionals, from all of its current nodes.
void take_conditionals(const ExecPtr& exec);
// Why an executable's node may not be updated to the graph's one; SUCCESS: it may.
CUgraphExecUpdateResult compare(const Work& before, const Work& after);

// The next body to run. nullptr: none.
GraphPtr chosen_body(const ConditionalWork& work);
// Combines neighbouring kernels into one piece of work: a graph takes one place in the hardware's
// queue.
class KernelRun {
 public:
  KernelRun(Driver& driver, const Context& context) : driver_(driver), context_(context) {}
  void add(const KernelWork& kernel);
  // All kernels since the last call. nullptr: there were none.
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
