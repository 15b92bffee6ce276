#pragma once
// Streams and what is queued in them.
//
// An Op is one thing that happens in order in its stream: a piece of GPU work, a copy that takes
// time, a host function, a wait. Work of one context is handed to its lane (gpu_time.h) as soon as
// everything before it either is over or stands before it in that same lane; whatever else must
// come first (a copy, another context's event, a host function) is waited for here. executor.h
// moves ops on. The driver's lock is held.

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
    kDelay,   // time that is nobody's: a copy
    kHost,    // a host function
    kPoll,    // over when ready() says so
    kBranch,  // tells what comes next in its stream, when everything before it is over
  };
  enum class State { kQueued, kSubmitted, kRunning, kDone };

  Kind kind = Kind::kMarker;
  std::uint64_t duration_ns = 0;  // kWork, kDelay, kBranch
  unsigned width = 1000;          // kWork: permille of the multiprocessors that it takes
  // What it does when it is over: asked for with the lock, run without. kDelay: moves the bytes;
  // kHost: the function.
  std::function<std::function<void()>()> effect;
  std::function<void()> settle;  // bookkeeping when it is over, with the lock
  std::function<bool()> ready;   // kPoll, with the lock
  // kBranch, with the lock: what the stream does before all that stands behind it.
  std::function<std::vector<std::shared_ptr<Op>>()> next;
  std::vector<std::shared_ptr<Op>> after;  // of other streams, not over yet

  State state = State::kQueued;
  std::uint64_t since_ns = 0;  // queued
  std::uint64_t lane = 0;      // kSubmitted: over at `place` of this lane, or, 0, at end_ns
  std::uint64_t place = 0;
  std::uint64_t end_ns = 0;    // kDone: when it was over
  bool needs_service = false;  // somebody must look after it when nobody waits
  bool is_cancelled = false;   // its context was destroyed

  bool is_done() const { return state == State::kDone; }
};
using OpPtr = std::shared_ptr<Op>;

// What stream 0 means in a function.
enum class DefaultStream { kLegacy, kPerThread };

struct Stream {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;

  std::deque<OpPtr> ops;          // not over, in order
  std::size_t submitted = 0;      // of ops, from the front
  std::size_t services = 0;       // of ops: those that need service
  OpPtr last;                     // over or not; null: never used
  std::uint64_t last_end_ns = 0;  // when the last one that is over was
  std::shared_ptr<Capture> capture;

  bool is_blocking() const { return !is_legacy && (flags & abi::CU_STREAM_NON_BLOCKING) == 0; }
  bool is_busy() const { return !ops.empty(); }
};
using StreamPtr = std::shared_ptr<Stream>;

}  // namespace tranche::sim::cuda
