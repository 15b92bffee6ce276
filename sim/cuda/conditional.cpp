#include "sim/cuda/conditional.h"

#include <algorithm>
#include <utility>

#include "sim/cuda/graph_calls.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

bool is_size_good(CUgraphConditionalNodeType type, unsigned size) {
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return size > 0;
  }
  return false;
}

// Is it the graph's own, or that of a graph around it?
bool belongs_to(const Conditional& conditional, const GraphPtr& graph) {
  const GraphPtr owner = conditional.graph.lock();
  for (GraphPtr one = graph; one; one = one->parent.lock()) {
    if (one == owner) return true;
  }
  return false;
}

ConditionalPtr find_conditional(const Driver& driver, CUgraphConditionalHandle handle) {
  const auto found = driver.conditionals.find(handle);
  return found == driver.conditionals.end() ? nullptr : found->second.lock();
}

bool is_body_good(const Graph& body, const ContextPtr& context);

bool is_allowed_in_body(const Work& work, const ContextPtr& context) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) {
    return kernel->function->context.lock() == context;
  }
  if (const auto* const child = std::get_if<ChildWork>(&work)) {
    return !has_conditionals(*child->graph) && is_body_good(*child->graph, context);
  }
  if (const auto* const nested = std::get_if<ConditionalWork>(&work)) {
    return nested->conditional->context.lock() == context &&
           std::ranges::all_of(nested->bodies,
                               [&](const GraphPtr& one) { return is_body_good(*one, context); });
  }
  return std::holds_alternative<CopyWork>(work) || std::holds_alternative<SetWork>(work) ||
         std::holds_alternative<EmptyWork>(work);
}

bool is_body_good(const Graph& body, const ContextPtr& context) {
  std::vector<NodePtr> order;
  return sort_nodes(body, order) && std::ranges::all_of(order, [&](const NodePtr& node) {
           return is_allowed_in_body(node->work, context);
         });
}

bool are_all_used(const Graph& graph) {
  const auto used = [](const ConditionalPtr& one) { return one->has_node; };
  return std::ranges::all_of(graph.conditionals, used) &&
         std::ranges::all_of(graph.nodes, [](const NodePtr& node) {
           const auto* const work = std::get_if<ConditionalWork>(&node->work);
           return work == nullptr || std::ranges::all_of(work->bodies, [](const GraphPtr& body) {
                    return are_all_used(*body);
                  });
         });
}

void collect(const Work& work, std::vector<ConditionalPtr>& out) {
  const auto* const conditional = std::get_if<ConditionalWork>(&work);
  if (conditional == nullptr) return;
  out.push_back(conditional->conditional);
  for (const GraphPtr& body : conditional->bodies) {
    for (const NodePtr& node : body->nodes) collect(node->work, out);
  }
}

CUgraphExecUpdateResult compare_bodies(const Graph& before, const Graph& after) {
  std::vector<NodePtr> old_order;
  std::vector<NodePtr> order;
  const bool alike =
      sort_nodes(before, old_order) && sort_nodes(after, order) && old_order.size() == order.size();
  if (!alike) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto one = compare(old_order[i]->work, order[i]->work);
    if (one != CU_GRAPH_EXEC_UPDATE_SUCCESS) return one;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

CUresult make_conditional(Call& call, const GraphPtr& graph, CUDA_CONDITIONAL_NODE_PARAMS& p,
                          Work& out) {
  const ConditionalPtr conditional = find_conditional(call.driver, p.handle);
  const bool good = conditional && !conditional->has_node && belongs_to(*conditional, graph) &&
                    is_size_good(p.type, p.size) &&
                    call.driver.contexts.find(p.ctx) == conditional->context.lock();
  if (!good || p.ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ConditionalWork work{
      .conditional = conditional, .type = p.type, .told = std::make_shared<std::vector<CUgraph>>()};
  for (unsigned i = 0; i < p.size; ++i) {
    work.bodies.push_back(call.driver.graphs.add(std::make_shared<Graph>()));
    work.bodies.back()->is_body = true;
    work.bodies.back()->parent = graph;
    work.told->push_back(handle_of<CUgraph>(*work.bodies.back()));
  }
  conditional->has_node = true;
  p.phGraph_out = work.told->data();
  out = std::move(work);
  return CUDA_SUCCESS;
}

bool has_conditionals(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const NodePtr& node) {
    const auto* const child = std::get_if<ChildWork>(&node->work);
    return std::holds_alternative<ConditionalWork>(node->work) ||
           (child != nullptr && has_conditionals(*child->graph));
  });
}

CUgraphInstantiateResult check_conditionals(const Graph& graph) {
  if (!are_all_used(graph)) return CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
  for (const NodePtr& node : graph.nodes) {
    if (const auto* const child = std::get_if<ChildWork>(&node->work)) {
      if (has_conditionals(*child->graph)) return CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    }
    const auto* const work = std::get_if<ConditionalWork>(&node->work);
    if (work == nullptr) continue;
    if (!is_allowed_in_body(*work, work->conditional->context.lock())) {
      return CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    }
    // There may be one at a time.
    if (!work->conditional->exec.expired()) return CUDA_GRAPH_INSTANTIATE_ERROR;
  }
  return CUDA_GRAPH_INSTANTIATE_SUCCESS;
}

void take_conditionals(const ExecPtr& exec) {
  std::vector<ConditionalPtr> found;
  for (const ExecNode& node : exec->nodes) collect(node.work, found);
  for (const ConditionalPtr& one : exec->conditionals) one->exec.reset();
  for (const ConditionalPtr& one : found) one->exec = exec;
  exec->conditionals = std::move(found);
}

CUgraphExecUpdateResult compare(const Work& before, const Work& after) {
  if (type_of(before) != type_of(after)) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  const auto* const old_work = std::get_if<ConditionalWork>(&before);
  const auto* const work = std::get_if<ConditionalWork>(&after);
  if (work == nullptr) return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  if (old_work->type != work->type || old_work->bodies.size() != work->bodies.size() ||
      old_work->conditional->context.lock() != work->conditional->context.lock()) {
    return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  for (std::size_t i = 0; i < work->bodies.size(); ++i) {
    const auto one = compare_bodies(*old_work->bodies[i], *work->bodies[i]);
    if (one != CU_GRAPH_EXEC_UPDATE_SUCCESS) return one;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

GraphPtr chosen_body(const ConditionalWork& work) {
  const unsigned value = work.conditional->value;
  switch (work.type) {
    case CU_GRAPH_COND_TYPE_IF:
      if (value != 0) return work.bodies.front();
      return work.bodies.size() == 2 ? work.bodies.back() : nullptr;
    case CU_GRAPH_COND_TYPE_WHILE:
      return value != 0 ? work.bodies.front() : nullptr;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return value < work.bodies.size() ? work.bodies[value] : nullptr;
  }
  return nullptr;
}

std::function<void()> setter_of(Driver& driver, const Context& context, const KernelWork& kernel) {
  const auto& sets = kernel.function->entry.sets_conditional;
  if (!sets) return {};
  const ConditionalPtr conditional = find_conditional(driver, value_of(kernel, sets->handle));
  // What a kernel with another handle does is not defined: here nothing.
  if (!conditional || conditional->context.lock().get() != &context) return {};
  const std::uint64_t given = value_of(kernel, sets->value);
  const auto from = sets->from;
  return [&driver, conditional, given, from] {
    if (from == SetsConditional::From::kValue) {
      conditional->value = static_cast<unsigned>(given);
      return;
    }
    std::uint32_t* const word = word_at(driver, given);
    if (word == nullptr) return;
    std::uint32_t read = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (from == SetsConditional::From::kCountDown && read > 0) {
      __atomic_store_n(word, --read, __ATOMIC_RELEASE);
    }
    conditional->value = read;
  };
}

void KernelRun::add(const KernelWork& kernel) {
  if (!op_) {
    op_ = std::make_shared<Op>();
    op_->kind = Op::Kind::kWork;
  }
  op_->duration_ns += duration_ns(context_, kernel);
  if (auto setter = setter_of(driver_, context_, kernel)) setters_.push_back(std::move(setter));
}

OpPtr KernelRun::take() {
  if (!setters_.empty()) {
    op_->settle = [setters = std::exchange(setters_, {})] {
      for (const auto& set : setters) set();
    };
  }
  return std::exchange(op_, nullptr);
}

CUDA_API CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* out,
                                                 CUgraph graph_handle, CUcontext context_handle,
                                                 unsigned value, unsigned flags) {
  const bool arguments = given(out) && (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) == 0;
  return on_graph(__func__, graph_handle, arguments, [&](Call& call, const GraphPtr& graph) {
    const ContextPtr context = call.driver.contexts.find(context_handle);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    auto& known = call.driver.conditionals;
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    auto made = std::make_shared<Conditional>();
    made->number = handle_number(HandleKind::kConditional, ++call.driver.last_conditional);
    made->graph = graph;
    made->context = context;
    made->first_value = value;
    made->has_default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
    known[made->number] = made;
    *out = made->number;
    graph->conditionals.push_back(std::move(made));
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
