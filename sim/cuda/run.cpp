// What happens in a stream: each kind of work as ops of the executor.

#include <type_traits>

#include "sim/cuda/capture.h"
#include "sim/cuda/conditional.h"
#include "sim/cuda/copies.h"
#include "sim/cuda/events.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/pools.h"

namespace tranche::sim::cuda {
namespace {

bool is_met(std::uint32_t word, std::uint32_t value, unsigned flags) {
  switch (flags & ~CU_STREAM_WAIT_VALUE_FLUSH) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      // In a circle: a counter may wrap.
      return static_cast<std::int32_t>(word - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return word == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (word & value) != 0;
    default:
      return ~(word | value) != 0;
  }
}

template <class Moves>
Op op_of(Driver& driver, const Device& device, const Moves& moves) {
  std::uint64_t ns = 0;
  if constexpr (std::is_same_v<Moves, CopyWork>) ns = duration_ns(driver, device, moves);
  if constexpr (std::is_same_v<Moves, SetWork>) ns = duration_ns(moves);
  return {.kind = Op::Kind::kDelay, .duration_ns = ns, .effect = [&driver, moves] {
            return plan(driver, moves);
          }};
}

Op branch_of(Driver& driver, const ContextPtr& context, const ConditionalWork& work,
             std::uint64_t delay_ns);

// A body, as consecutive ops.
class Body {
 public:
  Body(Driver& driver, const ContextPtr& context)
      : driver_(driver), context_(context), kernels_(driver, *context) {}

  void add(const Graph& graph) {
    std::vector<NodePtr> order;
    std::ignore = sort_nodes(graph, order);  // no circle, as instantiation found
    for (const NodePtr& node : order) std::visit(*this, node->work);
  }
  void operator()(const KernelWork& kernel) { kernels_.add(kernel); }
  void operator()(const CopyWork& copy) { push(op_of(driver_, context_->device, copy)); }
  void operator()(const SetWork& set) { push(op_of(driver_, context_->device, set)); }
  void operator()(const ChildWork& child) { add(*child.graph); }
  void operator()(const ConditionalWork& work) { push(branch_of(driver_, context_, work, 0)); }
  template <class Other>
  void operator()(const Other&) {}  // otherwise a body has only empty nodes

  void push(Op op) {
    flush();
    ops_.push_back(std::make_shared<Op>(std::move(op)));
  }
  std::vector<OpPtr> take() {
    flush();
    return std::move(ops_);
  }

 private:
  void flush() {
    if (OpPtr op = kernels_.take()) ops_.push_back(std::move(op));
  }

  Driver& driver_;
  const ContextPtr& context_;
  KernelRun kernels_;
  std::vector<OpPtr> ops_;
};

// The value is read when the stream reaches it; a loop's again after its body.
Op branch_of(Driver& driver, const ContextPtr& context, const ConditionalWork& work,
             std::uint64_t delay_ns) {
  // How long another check takes (invented). It is not zero, so that time advances in an endless
  // loop, and the process can do other things.
  constexpr std::uint64_t kLookAgain = 1000;
  return {.kind = Op::Kind::kBranch,
          .duration_ns = delay_ns,
          .next = [&driver, weak = std::weak_ptr(context), work]() -> std::vector<OpPtr> {
            const ContextPtr own = weak.lock();
            const GraphPtr chosen = chosen_body(work);
            if (!own || !chosen) return {};
            Body body(driver, own);
            body.add(*chosen);
            if (work.type == CU_GRAPH_COND_TYPE_WHILE) {
              body.push(branch_of(driver, own, work, kLookAgain));
            }
            return body.take();
          }};
}

// Managed memory of all kernels within comes to the device.
void make_body_resident(Call& call, Device& device, const Graph& graph) {
  for (const NodePtr& node : graph.nodes) {
    if (const auto* const kernel = std::get_if<KernelWork>(&node->work)) {
      make_parameters_resident(call, device, *kernel);
    } else if (const auto* const child = std::get_if<ChildWork>(&node->work)) {
      make_body_resident(call, device, *child->graph);
    } else if (const auto* const nested = std::get_if<ConditionalWork>(&node->work)) {
      for (const GraphPtr& body : nested->bodies) make_body_resident(call, device, *body);
    }
  }
}

class Runner {
 public:
  Runner(Call& call, const StreamPtr& stream) : call_(call), stream_(stream) {}

  CUresult operator()(const KernelWork& kernel) {
    const ContextPtr context = stream_->context.lock();
    make_parameters_resident(call_, context->device, kernel);
    return enqueue({.kind = Op::Kind::kWork,
                    .duration_ns = duration_ns(*context, kernel),
                    .width = width_of(*context, kernel),
                    .settle = setter_of(call_.driver, *context, kernel)});
  }

  CUresult operator()(const CopyWork& copy) {
    return enqueue(op_of(call_.driver, stream_->context.lock()->device, copy));
  }
  CUresult operator()(const SetWork& set) {
    return enqueue(op_of(call_.driver, stream_->context.lock()->device, set));
  }

  CUresult operator()(const HostWork& host) {
    const auto call = [host] {
      if (host.callback != nullptr) {
        host.callback(host.stream, CUDA_SUCCESS, host.data);
      } else {
        host.function(host.data);
      }
    };
    return enqueue(
        {.kind = Op::Kind::kHost, .effect = [call]() -> std::function<void()> { return call; }});
  }

  CUresult operator()(const RecordWork& record) {
    Op op;
    std::uint64_t recording = 0;
    if (const auto share = record.event->share; share) {
      recording = share->begin();
      op.settle = [share, recording] { share->end(recording); };
    }
    const CUresult queued = enqueue(std::move(op));
    record.event->op = op_;
    record.event->recording = recording;
    record.event->capture = nullptr;
    record.event->captured.clear();
    return queued;
  }

  CUresult operator()(const WaitWork& wait) {
    if (const std::uint64_t recording = wait.event->recorded_elsewhere(); recording != 0) {
      return enqueue({.kind = Op::Kind::kPoll, .ready = [share = wait.event->share, recording] {
                        return share->is_over(recording);
                      }});
    }
    Op op;
    if (wait.event->op && !wait.event->op->is_done()) op.after.push_back(wait.event->op);
    return enqueue(std::move(op));
  }

  CUresult operator()(const AllocWork& allocation) {
    const CUresult mapped = map_graph_memory(call_, allocation);
    return mapped == CUDA_SUCCESS ? enqueue({}) : mapped;
  }

  CUresult operator()(const FreeWork& freed) {
    return free_in_order(call_, stream_, freed.address);
  }

  CUresult operator()(const MemOpWork& work) {
    std::uint32_t* const word = word_at(call_.driver, work.address);
    if (word == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (work.is_wait) {
      return enqueue({.kind = Op::Kind::kPoll, .ready = [=] {
                        return is_met(__atomic_load_n(word, __ATOMIC_ACQUIRE), work.value,
                                      work.flags);
                      }});
    }
    return enqueue({.kind = Op::Kind::kDelay, .effect = [=]() -> std::function<void()> {
                      return [=] { __atomic_store_n(word, work.value, __ATOMIC_RELEASE); };
                    }});
  }

  CUresult operator()(const ChildWork& child) {
    std::vector<NodePtr> order;
    if (!sort_nodes(*child.graph, order)) return CUDA_ERROR_INVALID_VALUE;
    for (const NodePtr& node : order) {
      const CUresult done = std::visit(*this, node->work);
      if (done != CUDA_SUCCESS) return done;
    }
    return CUDA_SUCCESS;
  }

  // What follows it waits for a marker, which stays until all bodies are over.
  CUresult operator()(const ConditionalWork& work) {
    const ContextPtr context = stream_->context.lock();
    for (const GraphPtr& body : work.bodies) make_body_resident(call_, context->device, *body);
    std::ignore = enqueue(branch_of(call_.driver, context, work, 0));
    return enqueue({});
  }

  CUresult operator()(const EmptyWork&) { return enqueue({}); }

  const OpPtr& op() const { return op_; }

 private:
  CUresult enqueue(Op op) {
    op_ = std::make_shared<Op>(std::move(op));
    call_.driver.executor.enqueue(call_.lock, stream_, op_);
    return CUDA_SUCCESS;
  }

  Call& call_;
  const StreamPtr& stream_;
  OpPtr op_;
};

}  // namespace

std::uint32_t* word_at(Driver& driver, CUdeviceptr address) {
  constexpr std::size_t kBytes = sizeof(std::uint32_t);
  if (address % kBytes != 0) return nullptr;
  const auto parts = driver.space->bytes(address, kBytes, true);
  if (!parts || parts->size() != 1 || driver.space->find(address) == nullptr) return nullptr;
  return reinterpret_cast<std::uint32_t*>(parts->front().data());  // NOLINT: aligned, as seen
}

CUresult run(Call& call, const StreamPtr& stream, const Work& work, OpPtr* out) {
  if (const CUresult allowed = refuse_implicit(*stream); allowed != CUDA_SUCCESS) {
    return allowed;
  }
  Runner runner(call, stream);
  const CUresult done = std::visit(runner, work);
  if (out != nullptr) *out = runner.op();
  return done;
}

CUresult perform(Call& call, const StreamPtr& stream, Work work) {
  const auto* const wait = std::get_if<WaitWork>(&work);
  const bool joins = wait != nullptr && wait->event->capture && !wait->is_external;
  if (!stream->capture && !joins) return run(call, stream, work);
  return add_to_capture(call, stream, std::move(work));
}

}  // namespace tranche::sim::cuda
