#include "interpose/gate.h"

#include <cstddef>

#include "interpose/contexts.h"
#include "interpose/driver.h"
#include "interpose/harvest.h"
#include "interpose/helper.h"
#include "interpose/lock.h"
#include "interpose/queues.h"
#include "interpose/report.h"
#include "interpose/system.h"

namespace tranche::interpose {

constinit Batch no_batch{.key = 1, .left = 0, .launches = 0, .what = nullptr};

extern "C" {
constinit thread_local Thread tranche_thread
    __attribute__((tls_model("initial-exec"))) = {&no_batch, {}, nullptr};
std::atomic<bool> tranche_is_gated;
constinit Estimates tranche_estimates;
const char tranche_mixed = 0;
}

// Assumptions of launch_amd64.S.
static_assert(offsetof(Thread, batch) == 0 && offsetof(Thread, default_key) == 8);
static_assert(offsetof(Batch, key) == 0 && offsetof(Batch, left) == 8 &&
              offsetof(Batch, launches) == 16 && offsetof(Batch, what) == 24);
static_assert(offsetof(LaunchConfig, stream) == 32);

namespace {

constexpr std::int64_t kQuantum = 100'000;         // ns
constexpr std::int64_t kUnboundQuantum = 500'000;  // for tenants that need not wait
constexpr std::uint64_t kStale = 1'000'000;        // ns that an open batch may stand
// A thread that has not come back from the driver by then ended there, or left it by longjmp.
constexpr std::uint64_t kLost = 10'000'000'000;

// Protects everything below except what `passes` reads, and queues.h and harvest.h. Driver calls
// are made under it; they do not wait for the GPU.
Lock lock;
std::atomic<int> open_count;

// Our calls must not break a capture of the program. Only the driver knows whether one is active
// (it may end by an error, in another stream or with its stream), so this is used around all of
// them.
class RelaxedCapture {
 public:
  RelaxedCapture() { change(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { change(); }
  // Switches between the program's mode and ours.
  void change() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }

 private:
  int mode_ = kCaptureRelaxed;
};

// A waiting thread has the program's own state: a signal handler may leave by siglongjmp, and then
// none of our code restores it.
void queue_for_turn(const Part& part, std::uint64_t ns, RelaxedCapture& capture,
                    Uncancelled& uncancelled) {
  capture.change();
  uncancelled.pause();
  wait_for_turn(part, ns, harvest);
  uncancelled.go_on();
  capture.change();
}

bool is_capturing(Stream stream, bool twin) {
  int state = 0;
  const auto ask_driver = twin ? driver.cuStreamIsCapturing_ptsz : driver.cuStreamIsCapturing;
  return ask_driver(stream, &state) != kSuccess || state != 0;
}

bool record(Event event, const Queue& queue) {
  if (event == nullptr || is_capturing(queue.stream, queue.twin)) return false;
  return (queue.twin ? driver.cuEventRecord_ptsz : driver.cuEventRecord)(event, queue.stream) ==
         kSuccess;
}

// A key for each stream of the process: the handle, or for default streams one made of context and
// thread, which is odd, as no handle is.
std::uintptr_t stream_key(Stream stream, bool twin, Context context) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (handle > kPerThreadStream) return handle;
  const bool is_own = handle == 0 ? twin : handle == kPerThreadStream;
  const std::uintptr_t owner = is_own ? reinterpret_cast<std::uintptr_t>(&tranche_thread) : 0;
  const std::uintptr_t mixed =
      reinterpret_cast<std::uintptr_t>(context) ^ owner * 0x9E3779B97F4A7C15ULL;
  const std::uintptr_t key = mixed << 2U | (is_own ? 3U : 1U);
  tranche_thread.default_key[is_own ? 1 : 0] = key;
  return key;
}

Context current_context() {
  Context context = nullptr;
  return driver.cuCtxGetCurrent(static_cast<void*>(&context)) == kSuccess ? context : nullptr;
}

// The stream's place; nullptr: none.
Queue* queue_for(std::uintptr_t key, Stream stream, bool twin, Context current) {
  if (Queue* queue = find_queue(key); queue != nullptr) return queue;
  Context context = current;
  const bool is_default = (key & 1U) != 0;
  if (!is_default) driver.cuStreamGetCtx(stream, static_cast<void*>(&context));
  ContextState* state = ContextState::of(context);
  Queue* queue = state != nullptr ? take_queue(key) : nullptr;
  if (queue == nullptr) return nullptr;
  queue->context = state;
  queue->stream = stream;
  queue->twin = twin;
  return queue;
}

// Whether all its work has ended: then an event recorded now is later than the end, by an unknown
// amount.
bool is_dry(const Queue& queue) {
  return (queue.twin ? driver.cuStreamQuery_ptsz : driver.cuStreamQuery)(queue.stream) == kSuccess;
}

// The open batch takes no more; all that it asked for is accounted.
std::uint64_t finish(Queue& queue) {
  queue.is_open = false;
  queue.launching = 0;
  open_count.fetch_sub(1, std::memory_order_relaxed);
  const std::int64_t left = queue.batch.left.exchange(0, std::memory_order_relaxed);
  const auto asked = static_cast<std::uint64_t>(queue.quantum - left);
  if (asked > queue.first) ask(*queue.context->part(), asked - queue.first);
  return asked;
}

// Ends the open batch. It stays open while a thread is about to launch into it, or if it cannot be
// stored among the pending ones.
void close(Queue& queue) {
  if (!queue.is_open || queue.launching != 0 || queue.count == kPending) return;
  const std::uint64_t asked = finish(queue);
  Event end = queue.context->take_event();
  // Asked before the end is recorded, after which the stream is not dry.
  const bool is_loose = !is_capturing(queue.stream, queue.twin) && is_dry(queue);
  const Pair pair{.next = nullptr,
                  .begin = queue.begin,
                  .end = end,
                  .asked = asked,
                  .launches = queue.batch.launches.load(std::memory_order_relaxed),
                  .is_loose = is_loose,
                  .what = queue.batch.what.load(std::memory_order_relaxed),
                  .late = queue.late};
  if (record(end, queue) && push_pair(queue, pair)) return;
  queue.context->return_event(end);
  queue.context->return_event(queue.begin);
  report_unmeasured(*queue.context->part(), asked);
}

// Ends it without an event: nothing more can be recorded in its stream.
void abandon(Queue& queue) {
  if (queue.is_open) report_unmeasured(*queue.context->part(), finish(queue));
}

// false: the driver records nothing in the stream.
bool open(Queue& queue, const void* what, std::int64_t quantum, std::uint64_t first) {
  queue.begin = queue.context->take_event();
  if (!record(queue.begin, queue)) {
    queue.context->return_event(queue.begin);
    report_unmeasured(*queue.context->part(), first);
    return false;
  }
  queue.is_open = true;
  ++queue.serial;
  queue.quantum = quantum;
  queue.first = first;
  queue.opened = now_ns();
  queue.late = 0;
  list_at_work(queue);
  open_count.fetch_add(1, std::memory_order_relaxed);
  queue.batch.what.store(what, std::memory_order_relaxed);
  queue.batch.launches.store(1, std::memory_order_relaxed);
  queue.batch.left.store(quantum - static_cast<std::int64_t>(first), std::memory_order_relaxed);
  return true;
}

// One more launch, for which `first` was asked.
void join(Queue& queue, const void* what, std::uint64_t first) {
  queue.first += first;
  queue.batch.left.fetch_sub(static_cast<std::int64_t>(first), std::memory_order_relaxed);
  queue.batch.launches.fetch_add(1, std::memory_order_relaxed);
  if (queue.batch.what.load(std::memory_order_relaxed) != what)
    queue.batch.what.store(&tranche_mixed, std::memory_order_relaxed);
}

std::int64_t quantum_of(const Part& part) {
  const limit::wire::DevicePolicy& policy = part.policy();
  const std::uint32_t in_flight = policy.in_flight_ns.load(std::memory_order_relaxed);
  if (in_flight != 0) return in_flight / 2 < kQuantum ? in_flight / 2 : kQuantum;
  return policy.allowed_ns.load(std::memory_order_relaxed) == limit::wire::kNoLimit
             ? kUnboundQuantum
             : kQuantum;
}

// Its context no longer exists, nor do its events.
void drop(Queue& queue) {
  abandon(queue);
  while (queue.count != 0) report_unmeasured(*queue.context->part(), pop_pair(queue).asked);
  free_queue(queue);
}

}  // namespace

Context ask_context() {
  tranche_thread.context = current_context();
  return tranche_thread.context;
}

namespace {

// More contexts are active than there are places: waits like the others, and counts with its
// expected time.
void pass_unmeasured(const void* what, RelaxedCapture& capture, Uncancelled& uncancelled) {
  const Part* part = current_part();
  if (part == nullptr || part->rule != Part::Rule::kTenant) return;
  const std::uint64_t expected = tranche_estimates.of(what);
  if (!take_turn(*part, expected)) queue_for_turn(*part, expected, capture, uncancelled);
  report_unmeasured(*part, expected);
}

// Ends the previous batch; if it cannot be stored, because much is in progress, it continues.
void make_room(Queue& queue) {
  if (queue.count == kPending) harvest_locked();
  close(queue);
  if (!queue.is_open) return;
  queue.quantum += kQuantum;
  queue.batch.left.fetch_add(kQuantum, std::memory_order_relaxed);
}

}  // namespace

Passage pass_slowly(Stream stream, bool twin, const void* what) {
  Uncancelled uncancelled;
  const Context current = current_context();
  if (current == nullptr || is_capturing(stream, twin)) return {};
  const std::uintptr_t key = stream_key(stream, twin, current);
  RelaxedCapture capture;
  const Part* part = nullptr;
  {
    const Guard guard(lock);
    if (Queue* queue = queue_for(key, stream, twin, current); queue != nullptr) {
      part = queue->context->part();
      if (part->rule != Part::Rule::kTenant) return {};
      make_room(*queue);
    }
  }
  if (part == nullptr) {
    pass_unmeasured(what, capture, uncancelled);
    return {};
  }
  const std::uint64_t first = tranche_estimates.of(what);
  // Without the lock: meanwhile other threads launch, and finished work is reported.
  if (!take_turn(*part, first)) queue_for_turn(*part, first, capture, uncancelled);
  const Guard guard(lock);
  // Another thread may have opened one in the stream; or it has lost its place.
  Queue* queue = queue_for(key, stream, twin, current);
  if (queue == nullptr) {
    report_unmeasured(*part, first);
    return {};
  }
  tranche_thread.batch = &queue->batch;
  if (queue->is_open) {
    join(*queue, what, first);
  } else if (!open(*queue, what, quantum_of(*part), first)) {
    return {};
  }
  ++queue->launching;
  call_helper();
  return {&queue->batch, queue->serial};
}

void launched(const Passage& passage, bool is_done) {
  if (passage.batch == nullptr) return;
  const Uncancelled uncancelled;
  const RelaxedCapture capture;
  const Guard guard(lock);
  Queue& queue = queue_of(*passage.batch);
  // The context or stream may be gone, and the place another's.
  if (!queue.is_open || queue.serial != passage.serial) return;
  if (queue.launching != 0) --queue.launching;
  if (const std::uint64_t now = now_ns(); now - queue.opened > kStale) queue.late = now;
  // A refused launch took no time, and says nothing about the next one.
  if (!is_done) queue.batch.what.store(&tranche_mixed, std::memory_order_relaxed);
  if (queue.batch.left.load(std::memory_order_relaxed) <= 0) close(queue);
}

void close_batches_of(Stream stream, bool twin) {
  if (open_count.load(std::memory_order_relaxed) == 0) return;
  const Uncancelled uncancelled;
  const RelaxedCapture capture;
  const Context current = current_context();
  const Guard guard(lock);
  if (Queue* queue = find_queue(stream_key(stream, twin, current))) close(*queue);
}

void close_all_batches() {
  if (open_count.load(std::memory_order_relaxed) == 0) return;
  const Uncancelled uncancelled;
  const RelaxedCapture capture;
  const Guard guard(lock);
  CurrentContext scope;
  for (Queue* queue = at_work.first; queue != nullptr; queue = queue->next_at_work) {
    if (!queue->is_open) continue;
    scope.be(queue->context->context());
    close(*queue);
  }
}

void forget_stream(Stream stream) {
  if (!tranche_is_gated.load(std::memory_order_relaxed)) return;
  const Uncancelled uncancelled;
  const RelaxedCapture capture;
  const Guard guard(lock);
  Queue* queue = find_queue(reinterpret_cast<std::uintptr_t>(stream));
  if (queue == nullptr) return;
  close(*queue);
  if (queue->is_open) {  // if it could not be closed
    abandon(*queue);
    queue->context->return_event(queue->begin);
  }
  forget_key(*queue);
  if (is_idle(*queue)) free_queue(*queue);
}

ContextChange::ContextChange() {
  lock.lock();
  forget_current_context();
}
ContextChange::~ContextChange() { lock.unlock(); }

void ContextChange::ended(Context context) {
  each_queue([&](Queue& queue) {
    if (queue.context->context() == context) drop(queue);
  });
  ContextState::forget(context);
}

void harvest() {
  const Undisturbed undisturbed;  // waiting threads do this all the time
  if (!lock.try_lock()) return;
  const RelaxedCapture capture;
  harvest_locked();
  lock.unlock();
}

bool has_work() {
  const Guard guard(lock);
  return is_anything_at_work();
}

void close_stale() {
  if (open_count.load(std::memory_order_relaxed) == 0) return;
  const Guard guard(lock);
  const std::uint64_t now = now_ns();
  CurrentContext scope;
  for (Queue* queue = at_work.first; queue != nullptr; queue = queue->next_at_work) {
    const std::uint64_t age = now - queue->opened;
    if (!queue->is_open || age <= kStale) continue;
    if (age > kLost) queue->launching = 0;
    scope.be(queue->context->context());
    close(*queue);
  }
}

void forget_gate() {
  lock.reset();
  forget_queues();
  forget_harvest();
  open_count.store(0, std::memory_order_relaxed);
  tranche_is_gated.store(false, std::memory_order_relaxed);
  forget_current_context();
  ContextState::forget_all();
  forget_reports();
}

}  // namespace tranche::interpose
