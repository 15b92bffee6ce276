#pragma once
// Events: when something in a stream was over, on the machine's clock.

#include <memory>

#include "sim/cuda/stream.h"

namespace tranche::sim::cuda {

struct Node;

struct Event {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  OpPtr op;  // of its last recording; null: never recorded
  // Where it was recorded in a capture: it stands for these nodes there.
  std::shared_ptr<Capture> capture;
  std::vector<std::shared_ptr<Node>> captured;

  bool is_timed() const { return (flags & abi::CU_EVENT_DISABLE_TIMING) == 0; }
  bool is_over() const { return op == nullptr || op->is_done(); }
};
using EventPtr = std::shared_ptr<Event>;

}  // namespace tranche::sim::cuda
