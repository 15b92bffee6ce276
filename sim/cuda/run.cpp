// What happens in a stream: each kind of work as ops of the executor.

#include "sim/cuda/capture.h"
#include "sim/cuda/copies.h"
#include "sim/cuda/events.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/launch.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/pools.h"

namespace tranche::sim::cuda {
namespace {

// The word at a device address. nullptr: there is none, or it is not aligned.
std::uint32_t* word_at(Driver& driver, CUdeviceptr address) {
  constexpr std::size_t kBytes = sizeof(std::uint32_t);
  if (address % kBytes != 0) return nullptr;
  const auto parts = driver.space->bytes(address, kBytes, true);
  if (!parts || parts->size() != 1 || driver.space->find(address) == nullptr) return nullptr;
  return reinterpret_cast<std::uint32_t*>(parts->front().data());  // NOLINT: aligned, as seen
}

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

class Runner {
 public:
  Runner(Call& call, const StreamPtr& stream) : call_(call), stream_(stream) {}

  CUresult operator()(const KernelWork& kernel) {
    const ContextPtr context = stream_->context.lock();
    make_parameters_resident(call_, context->device, kernel);
    return enqueue({.kind = Op::Kind::kWork,
                    .duration_ns = duration_ns(*context, kernel),
                    .width = width_of(*context, kernel)});
  }

  CUresult operator()(const CopyWork& copy) {
    const ContextPtr context = stream_->context.lock();
    return enqueue({.kind = Op::Kind::kDelay,
                    .duration_ns = duration_ns(call_.driver, context->device, copy),
                    .effect = [&driver = call_.driver, copy] { return plan(driver, copy); }});
  }

  CUresult operator()(const SetWork& set) {
    return enqueue({.kind = Op::Kind::kDelay,
                    .duration_ns = duration_ns(set),
                    .effect = [&driver = call_.driver, set] { return plan(driver, set); }});
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
