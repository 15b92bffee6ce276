#include "interpose/harvest.h"

#include "interpose/driver.h"
#include "interpose/report.h"
#include "interpose/system.h"

namespace tranche::interpose {

namespace {

constexpr unsigned kAtOnce = 256;          // pairs that are put in order together
constexpr unsigned kLooked = 128;          // streams that are asked after at once
constexpr std::uint64_t kRounding = 1000;  // ns; the driver tells time as floats

// A pair that has ended, with its times by CLOCK_MONOTONIC.
struct Ended {
  Pair pair;
  ContextState* context;
  std::uint64_t begin;
  std::uint64_t end;
};
Ended ended[kAtOnce];
unsigned ended_count;

struct Stretch {
  std::uint64_t begin;
  std::uint64_t end;
};
// The last interval without a gap in which a device worked for this process.
Stretch covered[kMaxParts];

std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// Few, and nearly in order.
void sort_by_end() {
  for (unsigned i = 1; i < ended_count; ++i) {
    const Ended moved = ended[i];
    unsigned at = i;
    for (; at != 0 && ended[at - 1].end > moved.end; --at) ended[at] = ended[at - 1];
    ended[at] = moved;
  }
}

// The measured length of a batch, for the next estimate. A batch whose end was recorded late took
// at most that. For a batch that shared its time with others of this process the separate length is
// unknown: such batches count as the average.
void learn_from(const Pair& pair, std::uint64_t length, std::uint64_t own) {
  if (pair.what == &tranche_mixed || pair.launches == 0) return;
  if (pair.is_loose) {
    tranche_estimates.bound(pair.what, length / pair.launches);
  } else if (own + kRounding >= length) {
    tranche_estimates.learn(pair.what, length / pair.launches);
  } else {
    tranche_estimates.approach(pair.what, own / pair.launches);
  }
}

// The interval in which the GPU worked, as far as known. If a thread was delayed before it came
// back from the driver, that is the time since then, or what was asked for if that is more. Before
// an end that was recorded late, at most what was asked for is reported.
Stretch worked(const Ended& one) {
  const Pair& pair = one.pair;
  const std::uint64_t length = one.end - one.begin;
  if (pair.is_loose) return {one.begin, one.begin + least(length, pair.asked)};
  if (pair.late <= one.begin) return {one.begin, one.end};
  const std::uint64_t sure = one.end > pair.late ? one.end - pair.late : 0;
  const std::uint64_t expected = least(length, pair.asked);
  return {one.end - (sure > expected ? sure : expected), one.end};
}

void tell(const Ended& one) {
  const Part& part = *one.context->part();
  const Stretch work = worked(one);
  Stretch& last = covered[part.number];
  const bool touches = work.begin <= last.end && last.begin <= work.end;
  const std::uint64_t before = touches && work.begin < last.begin ? last.begin - work.begin : 0;
  const std::uint64_t from = touches && last.end > work.begin ? last.end : work.begin;
  const std::uint64_t after = work.end > from ? work.end - from : 0;
  if (before != 0) report(part, work.begin, work.begin + before, 0, 0);
  report(part, work.end - after, work.end, one.pair.launches, one.pair.asked);
  learn_from(one.pair, work.end - work.begin, before + after);
  if (touches) {
    last = {least(work.begin, last.begin), work.end > last.end ? work.end : last.end};
  } else if (work.end > last.end) {
    last = work;
  }
}

void settle() {
  sort_by_end();
  for (unsigned i = 0; i < ended_count; ++i) tell(ended[i]);
  ended_count = 0;
}

void take(Queue& queue, bool is_measured, std::uint64_t now) {
  ContextState& context = *queue.context;
  const Pair pair = pop_pair(queue);
  if (is_measured) {
    if (ended_count == kAtOnce) settle();
    const std::uint64_t begin = context.time_of(pair.begin, now);
    ended[ended_count++] = {pair, &context, begin, begin + between(pair.begin, pair.end)};
  } else {
    report_unmeasured(*context.part(), pair.asked);  // the context is broken
  }
  context.return_event(pair.begin);
  context.return_event(pair.end);
}

// Whether the queue's oldest unfinished work has begun.
bool has_begun(Queue& queue, std::uint64_t now) {
  if (queue.since != 0) return true;
  const Event begin = queue.count != 0 ? queue.oldest->begin : queue.begin;
  const int status = driver.cuEventQuery(begin);
  if (status == kNotReady) return false;
  queue.since = status == kSuccess ? queue.context->time_of(begin, now) : now;
  return true;
}

void look(Queue& queue, std::uint64_t now) {
  while (queue.count != 0 && has_begun(queue, now)) {
    const int status = driver.cuEventQuery(queue.oldest->end);
    if (status == kNotReady) return;
    take(queue, status == kSuccess, now);
  }
  if (queue.count != 0) return;
  if (queue.is_open) {
    has_begun(queue, now);
  } else if (queue.is_gone) {
    free_queue(queue);
  }
}

// For each part, during the report: too large for a small stack.
std::uint64_t busy[kMaxParts];
const Part* parts[kMaxParts];

void tell_busy() {
  for (unsigned i = 0; i < kMaxParts; ++i) {
    busy[i] = 0;
    parts[i] = nullptr;
  }
  ContextState::each([&](ContextState& context) {
    const Part& part = *context.part();
    if (part.rule == Part::Rule::kTenant) parts[part.number] = &part;
  });
  for (const Queue* queue = at_work.first; queue != nullptr; queue = queue->next_at_work) {
    if (queue->context == nullptr || queue->since == 0) continue;
    std::uint64_t& first = busy[queue->context->part()->number];
    if (first == 0 || queue->since < first) first = queue->since;
  }
  for (unsigned i = 0; i < kMaxParts; ++i) {
    if (parts[i] != nullptr) report_busy(*parts[i], busy[i]);
  }
}

}  // namespace

void harvest_locked() {
  const std::uint64_t now = now_ns();
  CurrentContext current;
  each_at_work(kLooked, [&](Queue& queue) {
    if (queue.context == nullptr) return;
    current.be(queue.context->context());
    queue.context->keep_time(now);
    look(queue, now);
  });
  settle();
  tell_busy();
}

void forget_harvest() {
  ended_count = 0;
  for (Stretch& one : covered) one = {};
}

}  // namespace tranche::interpose
