#include "interpose/gate.h"

#include <cstddef>

#include "interpose/contexts.h"
#include "interpose/driver.h"
#include "interpose/helper.h"
#include "interpose/lock.h"
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

// What launch_amd64.S takes for granted.
static_assert(offsetof(Thread, batch) == 0 && offsetof(Thread, default_key) == 8);
static_assert(offsetof(Batch, key) == 0 && offsetof(Batch, left) == 8 &&
              offsetof(Batch, launches) == 16 && offsetof(Batch, what) == 24);
static_assert(offsetof(LaunchConfig, stream) == 32);

namespace {

constexpr std::int64_t kQuantum = 100'000;         // ns
constexpr std::int64_t kUnboundQuantum = 500'000;  // of who needs not wait
constexpr unsigned kStreams = 512;
constexpr unsigned kPending = 64;
constexpr std::uint64_t kStale = 1'000'000;  // ns that an open batch may stand

// A batch that was closed and has not ended.
struct Pair {
  Event begin;
  Event end;
  std::uint64_t asked;
  std::uint32_t launches;
  const void* what;
  bool is_loose;  // its end was recorded when the stream had run dry
};

// The stream behind a batch.
struct Queue {
  ContextState* context;
  Stream stream;
  bool twin;
  bool is_open;
  bool is_gone;  // the stream is; the place is free once nothing is pending
  Event begin;   // of the open batch
  std::int64_t quantum;
  std::uint64_t first;  // asked for when it was opened
  std::uint64_t opened;
  Pair pending[kPending];
  unsigned head;
  unsigned count;

  Pair& oldest() { return pending[head]; }
};

// Of everything below but what `pass` reads. Calls of the driver are made under it; they do not
// wait for the GPU.
Lock lock;
Batch batches[kStreams];
Queue queues[kStreams];
unsigned used;  // no place at or above this was ever taken
std::atomic<int> open_count;

Queue& queue_of(const Batch& batch) { return queues[&batch - batches]; }

// Calls of ours are not to break a capture of the program's. Whether one goes on only the driver
// knows (one may end by an error, in another stream or with its stream), so this is for all of
// them.
class Aside {
 public:
  Aside() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside() { driver.cuThreadExchangeStreamCaptureMode(&mode_); }

 private:
  int mode_ = kCaptureRelaxed;
};

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

// One key for each stream of the process: handles as they are, the default streams by their context
// and thread. Those are odd, which no handle is.
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

Batch* find(std::uintptr_t key) {
  for (unsigned i = 0; i < used; ++i) {
    if (batches[i].key.load(std::memory_order_relaxed) == key && !queues[i].is_gone)
      return &batches[i];
  }
  return nullptr;
}

bool is_idle(const Queue& queue) { return !queue.is_open && queue.count == 0; }

// Free, or of a stream with nothing under way, which gets another one when it has. nullptr: there
// is none.
Batch* take_place() {
  for (Batch& batch : batches) {
    if (batch.key.load(std::memory_order_relaxed) == 0) return &batch;
  }
  for (Batch& batch : batches) {
    if (is_idle(queue_of(batch))) return &batch;
  }
  return nullptr;
}

Batch* make(std::uintptr_t key, Stream stream, bool twin, Context current) {
  Context context = current;
  const bool is_default = (key & 1U) != 0;
  if (!is_default) driver.cuStreamGetCtx(stream, static_cast<void*>(&context));
  ContextState* state = ContextState::of(context);
  if (state == nullptr) return nullptr;
  Batch* batch = take_place();
  if (batch == nullptr) return nullptr;
  Queue& queue = queue_of(*batch);
  queue = {};
  queue.context = state;
  queue.stream = stream;
  queue.twin = twin;
  batch->left.store(0, std::memory_order_relaxed);
  batch->key.store(key, std::memory_order_relaxed);
  const auto place = static_cast<unsigned>(batch - batches);
  if (used <= place) used = place + 1;
  return batch;
}

void free_place(Batch& batch) {
  batch.left.store(0, std::memory_order_relaxed);
  batch.key.store(0, std::memory_order_relaxed);
  queue_of(batch).is_gone = false;
}

// Whether all its work has ended: what is recorded now is later than that, nobody knows by how
// much.
bool is_dry(const Queue& queue) {
  return (queue.twin ? driver.cuStreamQuery_ptsz : driver.cuStreamQuery)(queue.stream) == kSuccess;
}

// The open batch takes no more; what it asked for, all of it accounted.
std::uint64_t finish(Batch& batch) {
  Queue& queue = queue_of(batch);
  queue.is_open = false;
  open_count.fetch_sub(1, std::memory_order_relaxed);
  const auto asked =
      static_cast<std::uint64_t>(queue.quantum - batch.left.exchange(0, std::memory_order_relaxed));
  if (asked > queue.first) ask(*queue.context->part(), asked - queue.first);
  return asked;
}

// Ends the open batch where it stands. One that could not be kept among those under way stays open.
void close(Batch& batch) {
  Queue& queue = queue_of(batch);
  if (!queue.is_open || queue.count == kPending) return;
  const std::uint64_t asked = finish(batch);
  Event end = queue.context->take_event();
  // Asked before the end is recorded: with that event in it the stream is not dry.
  const bool is_loose = !is_capturing(queue.stream, queue.twin) && is_dry(queue);
  if (!record(end, queue)) {
    queue.context->return_event(end);
    queue.context->return_event(queue.begin);
    report_unmeasured(*queue.context->part(), asked);
    return;
  }
  queue.pending[(queue.head + queue.count++) % kPending] = {
      queue.begin,
      end,
      asked,
      batch.launches.load(std::memory_order_relaxed),
      batch.what.load(std::memory_order_relaxed),
      is_loose};
}

// Ends it without an event: nothing more can be recorded in its stream.
void abandon(Batch& batch) {
  Queue& queue = queue_of(batch);
  if (queue.is_open) report_unmeasured(*queue.context->part(), finish(batch));
}

void open(Batch& batch, const void* what, std::int64_t quantum, std::uint64_t first) {
  Queue& queue = queue_of(batch);
  queue.begin = queue.context->take_event();
  if (!record(queue.begin, queue)) {
    queue.context->return_event(queue.begin);
    report_unmeasured(*queue.context->part(), first);
    return;
  }
  queue.is_open = true;
  queue.quantum = quantum;
  queue.first = first;
  queue.opened = now_ns();
  open_count.fetch_add(1, std::memory_order_relaxed);
  batch.what.store(what, std::memory_order_relaxed);
  batch.launches.store(1, std::memory_order_relaxed);
  batch.left.store(quantum - static_cast<std::int64_t>(first), std::memory_order_relaxed);
}

std::int64_t quantum_of(const Part& part) {
  const limit::wire::DevicePolicy& policy = part.policy();
  const std::uint32_t in_flight = policy.in_flight_ns.load(std::memory_order_relaxed);
  if (in_flight != 0) return in_flight / 2 < kQuantum ? in_flight / 2 : kQuantum;
  return policy.allowed_ns.load(std::memory_order_relaxed) == limit::wire::kNoLimit
             ? kUnboundQuantum
             : kQuantum;
}

// What a batch took, for the next estimate. One whose end was recorded late took at most that.
void learn_from(const Pair& pair, std::uint64_t length) {
  if (pair.what == &tranche_mixed || pair.launches == 0) return;
  const std::uint64_t each = length / pair.launches;
  if (pair.is_loose) {
    tranche_estimates.bound(pair.what, each);
  } else {
    tranche_estimates.learn(pair.what, each);
  }
}

// The oldest batch of the queue, if it has ended.
bool reap(Queue& queue, std::uint64_t now) {
  if (queue.count == 0) return false;
  const Pair& pair = queue.oldest();
  const int status = driver.cuEventQuery(pair.end);
  if (status == kNotReady) return false;
  ContextState& context = *queue.context;
  if (status == kSuccess) {
    const std::uint64_t length = between(pair.begin, pair.end);
    // Nobody worked between the last launch and the end that was recorded late: at most what was
    // asked for is told.
    const std::uint64_t told = pair.is_loose && length > pair.asked ? pair.asked : length;
    const std::uint64_t begin = context.time_of(pair.begin, now);
    report(*context.part(), begin, begin + told, pair.launches, pair.asked);
    learn_from(pair, length);
  } else {
    report_unmeasured(*context.part(), pair.asked);  // the context is broken
  }
  context.return_event(pair.begin);
  context.return_event(pair.end);
  queue.head = (queue.head + 1) % kPending;
  --queue.count;
  return true;
}

// When the oldest work of the queue that has not ended began; 0: it has not, or there is none.
std::uint64_t busy_since(Queue& queue, std::uint64_t now) {
  const Event begin = queue.count != 0 ? queue.oldest().begin
                      : queue.is_open  ? queue.begin
                                       : nullptr;
  if (begin == nullptr || driver.cuEventQuery(begin) != kSuccess) return 0;
  return queue.context->time_of(begin, now);
}

// Its context is no more, and its events with it.
void drop(Batch& batch) {
  Queue& queue = queue_of(batch);
  abandon(batch);
  for (; queue.count != 0; --queue.count, queue.head = (queue.head + 1) % kPending) {
    report_unmeasured(*queue.context->part(), queue.oldest().asked);
  }
  free_place(batch);
}

void harvest_locked() {
  const std::uint64_t now = now_ns();
  std::uint64_t busy[kMaxParts] = {};
  const Part* parts[kMaxParts] = {};
  for (unsigned i = 0; i < used; ++i) {
    Queue& queue = queues[i];
    if (batches[i].key.load(std::memory_order_relaxed) == 0) continue;
    const ScopedContext scope(queue.context->context());
    if (queue.count != 0 || queue.is_open) queue.context->keep_time(now);
    while (reap(queue, now)) {
    }
    if (queue.is_gone && queue.count == 0) {
      free_place(batches[i]);
      continue;
    }
    const Part& part = *queue.context->part();
    parts[part.number] = &part;
    const std::uint64_t since = busy_since(queue, now);
    std::uint64_t& first = busy[part.number];
    if (since != 0 && (first == 0 || since < first)) first = since;
  }
  for (unsigned i = 0; i < kMaxParts; ++i) {
    if (parts[i] != nullptr && parts[i]->rule == Part::Rule::kTenant)
      report_busy(*parts[i], busy[i]);
  }
}

}  // namespace

Context ask_context() {
  tranche_thread.context = current_context();
  return tranche_thread.context;
}

namespace {

// More streams or contexts are at work than there are places: it waits like the others, and counts
// as what it is expected to take.
void pass_unmeasured(const void* what) {
  const Part* part = current_part();
  if (part == nullptr || part->rule != Part::Rule::kTenant) return;
  const std::uint64_t expected = tranche_estimates.of(what);
  wait_for_turn(*part, expected, harvest);
  ask(*part, expected);
  report_unmeasured(*part, expected);
}

}  // namespace

void pass_slowly(Stream stream, bool twin, const void* what) {
  const Uncancelled uncancelled;
  const Context current = current_context();
  if (current == nullptr || is_capturing(stream, twin)) return;
  const std::uintptr_t key = stream_key(stream, twin, current);
  const Aside aside;
  const Part* part = nullptr;
  {
    const Guard guard(lock);
    Batch* batch = find(key);
    if (batch == nullptr) batch = make(key, stream, twin, current);
    if (batch != nullptr) {
      Queue& queue = queue_of(*batch);
      part = queue.context->part();
      if (part->rule != Part::Rule::kTenant) return;
      if (queue.count == kPending) harvest_locked();
      close(*batch);
      if (queue.is_open) {  // much is under way: it goes on
        queue.quantum += kQuantum;
        batch->left.fetch_add(kQuantum, std::memory_order_relaxed);
      }
    }
  }
  if (part == nullptr) {
    pass_unmeasured(what);
    return;
  }
  const std::uint64_t first = tranche_estimates.of(what);
  // Without the lock: meanwhile other threads launch, and what has ended is reported.
  wait_for_turn(*part, first, harvest);
  const Guard guard(lock);
  // Another thread may have opened one in the stream; or it is gone, or has lost its place.
  Batch* batch = find(key);
  if (batch == nullptr) {
    ask(*part, first);
    report_unmeasured(*part, first);
    return;
  }
  tranche_thread.batch = batch;
  if (queue_of(*batch).is_open) {
    batch->left.fetch_sub(static_cast<std::int64_t>(first), std::memory_order_relaxed);
    batch->launches.fetch_add(1, std::memory_order_relaxed);
    if (batch->what.load(std::memory_order_relaxed) != what)
      batch->what.store(&tranche_mixed, std::memory_order_relaxed);
    return;
  }
  ask(*part, first);
  open(*batch, what, quantum_of(*part), first);
  call_helper();
}

void close_batches(bool all, Stream stream, bool twin) {
  if (open_count.load(std::memory_order_relaxed) == 0) return;
  const Uncancelled uncancelled;
  const Aside aside;
  const Context current = current_context();
  const Guard guard(lock);
  if (!all) {
    if (Batch* batch = find(stream_key(stream, twin, current))) close(*batch);
    return;
  }
  for (unsigned i = 0; i < used; ++i) {
    if (!queues[i].is_open) continue;
    const ScopedContext scope(queues[i].context->context());
    close(batches[i]);
  }
}

void forget_stream(Stream stream) {
  if (!tranche_is_gated.load(std::memory_order_relaxed)) return;
  const Uncancelled uncancelled;
  const Aside aside;
  const Guard guard(lock);
  Batch* batch = find(reinterpret_cast<std::uintptr_t>(stream));
  if (batch == nullptr) return;
  close(*batch);
  abandon(*batch);  // where it could not be closed
  queue_of(*batch).is_gone = true;
}

ContextChange::ContextChange() {
  lock.lock();
  forget_current_context();
}
ContextChange::~ContextChange() { lock.unlock(); }

void ContextChange::ended(Context context) {
  for (unsigned i = 0; i < used; ++i) {
    const bool is_its = batches[i].key.load(std::memory_order_relaxed) != 0 &&
                        queues[i].context->context() == context;
    if (is_its) drop(batches[i]);
  }
  ContextState::forget(context);
}

void harvest() {
  const Undisturbed undisturbed;  // threads that wait do this all the time
  if (!lock.try_lock()) return;
  const Aside aside;
  harvest_locked();
  lock.unlock();
}

bool has_work() {
  const Guard guard(lock);
  for (unsigned i = 0; i < used; ++i) {
    if (batches[i].key.load(std::memory_order_relaxed) != 0 &&
        (queues[i].is_open || queues[i].count != 0))
      return true;
  }
  return false;
}

void close_stale() {
  if (open_count.load(std::memory_order_relaxed) == 0) return;
  const Guard guard(lock);
  const std::uint64_t now = now_ns();
  for (unsigned i = 0; i < used; ++i) {
    const Queue& queue = queues[i];
    if (!queue.is_open || now - queue.opened <= kStale) continue;
    const ScopedContext scope(queue.context->context());
    close(batches[i]);
  }
}

void forget_gate() {
  lock.reset();
  for (unsigned i = 0; i < used; ++i) {
    batches[i].key.store(0, std::memory_order_relaxed);
    queues[i] = {};
  }
  used = 0;
  open_count.store(0, std::memory_order_relaxed);
  tranche_is_gated.store(false, std::memory_order_relaxed);
  forget_current_context();
  ContextState::forget_all();
  forget_reports();
}

}  // namespace tranche::interpose
