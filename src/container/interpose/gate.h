#pragma once
// The gate that all GPU work passes: waits until the tenant's policy admits it, and has it measured
// (docs/decisions/0010-limits.md, "GPU time is granted as a sum").
//
// Work is grouped into batches, one open at a time per stream: as many launches as are expected to
// fill kBatch. Within a batch a launch costs two loads, a subtraction and a store. At its end the
// batch is closed (an event after its last launch), and the next one waits for its turn and opens
// (an event before its first). While a thread is between the gate and the driver its batch stays
// open. Batches that have ended on the GPU are reported by harvest(), which a thread of the library
// calls, as does every waiting thread.
//
// A stream in capture does no work: its launches pass.

#include <atomic>
#include <cstdint>

#include "interpose/batch.h"
#include "interpose/cuda.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

// A launch on the slow path: between the gate and the driver, until launched() is called.
struct Passage {
  Batch* batch;  // nullptr: it is in none
  std::uint64_t serial;
};
Passage pass_slowly(Stream stream, bool twin, const void* what);
// The driver has accepted the launch, or refused it (`is_done` false). A full batch ends here, so
// that its end is recorded before the stream can run dry.
void launched(const Passage& passage, bool is_done);

// Call before a launch of `what` into `stream`; `twin`: stream 0 means the thread's own. true: it
// may go; false: call pass_slowly() first, and launched() afterwards.
[[gnu::always_inline]] inline bool passes(Stream stream, bool twin, const void* what) {
  if (!tranche_is_gated.load(std::memory_order_relaxed)) return true;
  auto key = reinterpret_cast<std::uintptr_t>(stream);
  if (key <= kPerThreadStream) {
    key = tranche_thread.default_key[key == 0 ? static_cast<unsigned>(twin) : key - 1];
  }
  Batch* batch = tranche_thread.batch;
  // No batch has key 0, and a thread starts with the dummy batch.
  if (batch->key.load(std::memory_order_relaxed) != key) return false;
  const std::int64_t left =
      batch->left.load(std::memory_order_relaxed) - tranche_estimates.of(what);
  if (left <= 0) return false;
  // Not atomic: threads that share a stream may lose a count, and the batch is a launch longer.
  batch->left.store(left, std::memory_order_relaxed);
  batch->launches.store(batch->launches.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
  if (batch->what.load(std::memory_order_relaxed) != what) {
    batch->what.store(&tranche_mixed, std::memory_order_relaxed);
  }
  return true;
}

// Makes the launch of `what` with `call`; returns its result.
template <class Call>
int gated(Stream stream, bool twin, const void* what, Call call) {
  if (passes(stream, twin, what)) return call();
  const Passage passage = pass_slowly(stream, twin, what);
  const int status = call();
  launched(passage, status == kSuccess);
  return status;
}

// The program is about to wait for work of `stream`, or of any. Open batches end here; otherwise
// they would include the time of the wait.
void close_batches_of(Stream stream, bool twin);
void close_all_batches();
// The stream will be destroyed.
void forget_stream(Stream stream);

// The calling thread's current context has changed.
inline void forget_current_context() { tranche_thread = {&no_batch, {}, nullptr}; }
// Asks the driver for the current context.
Context ask_context();
// The same, cached; nullptr: there is none.
inline Context known_context() {
  const Context known = tranche_thread.context;
  return __builtin_expect(known != nullptr, 1) != 0 ? known : ask_context();
}

// Held around calls that may end contexts: nothing uses them meanwhile.
class ContextChange {
 public:
  ContextChange();
  ContextChange(const ContextChange&) = delete;
  ContextChange& operator=(const ContextChange&) = delete;
  ~ContextChange();
  // `context` no longer exists: nothing is measured in it. The caller must release its memory.
  void ended(Context context);

 private:
  Uncancelled uncancelled_;
};

// Reports finished work. Any thread; returns at once if another thread is doing it.
void harvest();

// Whether any work is in progress; closes idle open batches. For the helper's thread.
bool has_work();
void close_stale();

void forget_gate();

}  // namespace tranche::interpose
