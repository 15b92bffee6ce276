#pragma once
// The gate that every piece of GPU work passes: waits until the tenant's policy lets it go, and has
// it measured (docs/decisions/0010-limits.md, "GPU time is granted as a sum").
//
// Work is taken in batches, one open at a time for each stream: so many launches as are expected to
// fill kBatch. Within a batch a launch costs two loads, a subtraction and a store; at its end the
// batch is closed (an event after its last launch), and the next one waits for its turn and opens
// (an event before its first). While a thread is between the gate and the driver its batch stays
// open. Batches that have ended on the GPU are reported by harvest(), which a thread of the
// library's does, and every thread that waits.
//
// A stream that captures does no work: its launches pass.

#include <atomic>
#include <cstdint>

#include "interpose/batch.h"
#include "interpose/cuda.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

// A launch that went the long way: between the gate and the driver, until launched() is told.
struct Passage {
  Batch* batch;  // nullptr: it is in none
  std::uint64_t serial;
};
Passage pass_slowly(Stream stream, bool twin, const void* what);
// The driver has taken the launch, or refused it (`is_done` false). A batch that is full ends here,
// so that its end is recorded before the stream can run dry.
void launched(const Passage& passage, bool is_done);

// Before a launch of `what` into `stream`; `twin`: stream 0 is the thread's own. true: it may go;
// false: pass_slowly() first, and launched() after.
[[gnu::always_inline]] inline bool passes(Stream stream, bool twin, const void* what) {
  if (!tranche_is_gated.load(std::memory_order_relaxed)) return true;
  auto key = reinterpret_cast<std::uintptr_t>(stream);
  if (key <= kPerThreadStream) {
    key = tranche_thread.default_key[key == 0 ? static_cast<unsigned>(twin) : key - 1];
  }
  Batch* batch = tranche_thread.batch;
  // No batch has key 0, and a thread begins with the batch that never was.
  if (batch->key.load(std::memory_order_relaxed) != key) return false;
  const std::int64_t left =
      batch->left.load(std::memory_order_relaxed) - tranche_estimates.of(what);
  if (left <= 0) return false;
  // Not one step: threads that share a stream may lose a count, and the batch is a launch longer.
  batch->left.store(left, std::memory_order_relaxed);
  batch->launches.store(batch->launches.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  if (batch->what.load(std::memory_order_relaxed) != what) {
    batch->what.store(&tranche_mixed, std::memory_order_relaxed);
  }
  return true;
}

// The launch of `what` that `call` makes; what that returns.
template <class Call>
int gated(Stream stream, bool twin, const void* what, Call call) {
  if (passes(stream, twin, what)) return call();
  const Passage passage = pass_slowly(stream, twin, what);
  const int status = call();
  launched(passage, status == kSuccess);
  return status;
}

// The program is about to wait for work of `stream`, or of any (nullptr stands for stream 0 only
// with `all` false): batches that are open end here, or the time that it waits would be in them.
void close_batches(bool all, Stream stream, bool twin);
// The stream will be destroyed.
void forget_stream(Stream stream);

// The calling thread's current context has changed.
inline void forget_current_context() { tranche_thread = {&no_batch, {}, nullptr}; }
// Asks the driver which it is.
Context ask_context();
// The same, without asking each time; nullptr: there is none.
inline Context known_context() {
  const Context known = tranche_thread.context;
  return __builtin_expect(known != nullptr, 1) != 0 ? known : ask_context();
}

// Around what may end contexts: nothing of them is touched meanwhile.
class ContextChange {
 public:
  ContextChange();
  ContextChange(const ContextChange&) = delete;
  ContextChange& operator=(const ContextChange&) = delete;
  ~ContextChange();
  // `context` is no more: nothing is measured in it. Its memory is the caller's to end.
  void ended(Context context);

 private:
  Uncancelled uncancelled_;
};

// Reports what has ended. Any thread; returns at once when another one does it.
void harvest();

// Whether anything is under way; closes batches that stand open. For the helper's thread.
bool has_work();
void close_stale();

void forget_gate();

}  // namespace tranche::interpose
