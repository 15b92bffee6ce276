#include "interpose/pending_frees.h"

#include <atomic>

#include "interpose/blocks.h"
#include "interpose/contexts.h"
#include "interpose/driver.h"
#include "interpose/gate.h"
#include "interpose/helper.h"

namespace tranche::interpose {
namespace {

constexpr unsigned kWithoutTiming = 2;  // CU_EVENT_DISABLE_TIMING

struct Entry {
  PendingFree free;
  Event event;
  Context context;  // of the event
};
Blocks<Entry> entries;  // by event
std::atomic<int> count;
Lock asking;  // held while events are queried, and while contexts end

std::uint64_t key_of(Event event) { return reinterpret_cast<std::uint64_t>(event); }

// Queries here must not break a capture of the program.
class Relaxed {
 public:
  Relaxed() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }

 private:
  int mode_ = kCaptureRelaxed;
};

// Counted down last: who sees that nothing is pending finds all of it released.
void release(const Entry& entry) {
  if (entry.free.held.is_any()) give_back(entry.free.held.part(), entry.free.held.bytes());
  count.fetch_sub(1, std::memory_order_release);
}

// The helper's thread has no context of its own. A broken context cannot be queried: NVML reports
// what it still holds.
bool is_reached(const Entry& entry) {
  const ScopedContext scope(entry.context);
  return driver.cuEventQuery(entry.event) != kNotReady;
}

Context context_of(Stream stream) {
  Context context = known_context();
  if (reinterpret_cast<std::uintptr_t>(stream) > kPerThreadStream) {
    driver.cuStreamGetCtx(stream, static_cast<void*>(&context));
  }
  return context;
}

// An event after the stream's present work; nullptr: the driver refuses.
Event event_behind(Stream stream, bool twin, Context context) {
  const ScopedContext scope(context);
  Event event = nullptr;
  if (driver.cuEventCreate(static_cast<void*>(&event), kWithoutTiming) != kSuccess) return nullptr;
  if ((twin ? driver.cuEventRecord_ptsz : driver.cuEventRecord)(event, stream) == kSuccess) {
    return event;
  }
  driver.cuEventDestroy_v2(event);
  return nullptr;
}

}  // namespace

FreesPaused::FreesPaused() : guard_(asking) {}

bool free_when_reached(const PendingFree& free, Stream stream, bool twin) {
  const UncancelledGuard guard(asking);
  const Relaxed relaxed;
  const Context context = context_of(stream);
  const Event event = event_behind(stream, twin, context);
  if (event == nullptr) return false;
  if (!entries.put(key_of(event), {free, event, context})) {
    driver.cuEventDestroy_v2(event);
    return false;
  }
  count.fetch_add(1, std::memory_order_relaxed);
  call_helper();
  return true;
}

bool has_pending_frees() { return count.load(std::memory_order_acquire) != 0; }

void settle_frees() {
  if (!has_pending_frees()) return;
  const UncancelledGuard guard(asking);
  const Relaxed relaxed;
  entries.take_all(is_reached, [&](std::uint64_t, const Entry& entry) {
    release(entry);
    driver.cuEventDestroy_v2(entry.event);
  });
}

std::uint64_t take_frees_of_pool(const void* pool, const Part& part, std::uint64_t charged) {
  if (!has_pending_frees()) return 0;
  const UncancelledGuard guard(asking);
  std::uint64_t taken = 0;
  entries.change_all([&](Entry& entry) {
    if (entry.free.pool != pool) return;
    const std::uint64_t left = charged - taken;
    const std::uint64_t bytes = entry.free.piece_bytes < left ? entry.free.piece_bytes : left;
    entry.free = {.held = Held(part, bytes, nullptr)};
    taken += bytes;
  });
  return taken;
}

void end_frees_of(Context context) {
  if (!has_pending_frees()) return;
  entries.take_all(
      [&](const Entry& entry) {
        return entry.context == context || entry.free.held.context() == context;
      },
      [&](std::uint64_t, const Entry& entry) {
        release(entry);
        if (entry.context != context) driver.cuEventDestroy_v2(entry.event);
      });
}

void forget_frees() {
  entries.reset();
  asking.reset();
  count.store(0, std::memory_order_relaxed);
}

}  // namespace tranche::interpose
