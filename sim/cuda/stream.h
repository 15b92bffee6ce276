#pragma once
// Streams and what is queued in them.
//
// An Op is one item that happens in order in its stream: a piece of GPU work, a copy that takes
// time, a host function, a wait. Work of one context is submitted to its lane (gpu_time.h) as soon
// as everything before it is over or precedes it in the same lane. Whatever else must come first (a
// copy, another context's event, a host function) is waited for here. executor.h advances ops. The
// driver's lock is held.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "sim/cuda/abi.h"
#include "sim/cuda/handles.h"

namespace tranche::sim::cuda {

struct Capture;
struct Context;

struct Op {
  enum class Kind {
    kMarker,  // over when everything before it is
    kWork,    // GPU time of the context
    kDelay,   // time that belongs to no context: a copy
    kHost,    // a host function
    kPoll,    // over when ready() says so
    kBranch,  // determines what comes next in its stream, when everything before it is over
  };
  enum class State { kQueued, kSubmitted, kRunning, kDone };

  Kind kind = Kind::kMarker;
  std::uint64_t duration_ns = 0;  // kWork, kDelay, kBranch
  unsigned width = 1000;          // kWork: permille of the multiprocessors that it takes
  // Its effect when it is over: requested with the lock, run without. kDelay: moves the bytes;
  // kHost: the function.
  std::function<std::function<void()>()> effect;
  std::function<void()> settle;  // bookkeeping when it is over, with the lock
  std::function<bool()> ready;   // kPoll, with the lock
  // kBranch, with the lock: what the stream does before everything after it.
  std::function<std::vector<std::shared_ptr<Op>>()> next;
  std::vector<std::shared_ptr<Op>> after;  // in other streams, not over yet

  State state = State::kQueued;
  std::uint64_t since_ns = 0;  // when it was queued
  std::uint64_t lane = 0;      // kSubmitted: over at `place` of this lane or, if 0, at end_ns
  std::uint64_t place = 0;
  std::uint64_t end_ns = 0;    // kDone: when it finished
  bool needs_service = false;  // must be serviced even if nothing waits
  bool is_cancelled = false;   // its context was destroyed

  bool is_done() const { return state == State::kDone; }
};
using OpPtr = std::shared_ptr<Op>;

// The meaning of stream 0 in a function.
enum class DefaultStream { kLegacy, kPerThread };

struct Stream {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;

  std::deque<OpPtr> ops;          // not over, in order
  std::size_t submitted = 0;      // number of submitted ops, from the front
  std::size_t services = 0;       // number of ops that need service
  OpPtr last;                     // finished or not; null: never used
  std::uint64_t last_end_ns = 0;  // when the last finished one finished
  std::shared_ptr<Capture> capture;

  bool is_blocking() const { return !is_legacy && (flags & abi::CU_STREAM_NON_BLOCKING) == 0; }
  bool is_busy() const { return !ops.empty(); }
};
using StreamPtr = std::shared_ptr<Stream>;

}  // namespace tranche::sim::cuda
