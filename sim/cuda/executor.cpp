#include "sim/cuda/executor.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "sim/cuda/context.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::size_t kQueueDepth = 1024;         // launches that fit into the hardware's queue
constexpr std::uint64_t kPollEvery = 50'000;      // ns between two looks at a word in memory
constexpr std::uint64_t kLookEvery = 10'000'000;  // ns between two looks at a shared GPU

thread_local bool in_host_function = false;

}  // namespace

bool Executor::is_in_host_function() { return in_host_function; }

// Work in the legacy stream comes after all work in blocking streams of the context, and they
// after it.
void Executor::add_dependencies(Stream& stream, Op& op) {
  const auto context = stream.context.lock();
  const auto follow = [&](const Stream& other) {
    if (&other != &stream && other.is_busy()) op.after.push_back(other.last);
  };
  if (stream.is_legacy) {
    for (const StreamPtr& other : context->all_streams()) {
      if (other->is_blocking()) follow(*other);
    }
  } else if (stream.is_blocking()) {
    follow(*context->legacy);
  }
}

void Executor::enqueue(Lock& lock, const StreamPtr& stream, const OpPtr& op) {
  if (stream->ops.size() >= kQueueDepth) {
    wait(lock, [&] { return stream->ops.size() < kQueueDepth; });
  }
  op->since_ns = clock_.now();
  branch_until_ns_ = op->since_ns;
  add_dependencies(*stream, *op);
  std::erase_if(op->after, [](const OpPtr& one) { return one->is_done(); });
  if (!stream->is_busy()) busy_.push_back(stream);
  const OpPtr before = stream->last;
  const bool all_before_submitted = stream->submitted == stream->ops.size();
  stream->ops.push_back(op);
  stream->last = op;
  if (all_before_submitted && submit(*stream, *op, before.get())) ++stream->submitted;
  // Over at once, or the queue grows: then look what else is.
  if (stream->ops.front() == op || stream->ops.size() % 64 == 0) finish(lock, *stream);
  if (op->is_done() || op->is_cancelled) return;
  const bool is_plain = op->lane != 0 && op->kind == Op::Kind::kWork && !op->settle;
  if (!is_plain) need_service(*stream, *op);
}

// The place at which the kernel will be over. The part of it that runs concurrently with others is
// already in the lane.
std::uint64_t Executor::submit_work(Context& context, const Op& op, const Op* before) {
  const GpuTime& time = *context.device.time;
  if (op.width >= Overlap::kWhole) {
    const std::uint64_t end = time.submit(context.lane, op.duration_ns);
    context.overlap.fill(end);
    return end;
  }
  Overlap::Kernel kernel{
      .after = before == nullptr ? 0 : before->place, .length = op.duration_ns, .width = op.width};
  for (const OpPtr& one : op.after) kernel.after = std::max(kernel.after, one->place);
  const std::uint64_t submitted = time.end_of(context.lane);
  const std::uint64_t executed = time.look(context.lane, 0).executed_ns;
  const std::uint64_t end = context.overlap.place(kernel, executed);
  if (end > submitted) time.submit(context.lane, end - submitted);
  return end;
}

// Hands `op` on if everything before it allows that.
bool Executor::submit(Stream& stream, Op& op, const Op* before) {
  const auto context = stream.context.lock();
  if (!context) return false;
  std::erase_if(op.after, [&](const OpPtr& one) {
    if (!one->is_done()) return false;
    op.since_ns = std::max(op.since_ns, one->end_ns);
    return true;
  });
  if (before == nullptr || before->is_done()) {
    op.since_ns = std::max(op.since_ns, stream.last_end_ns);
    before = nullptr;
  }
  const auto stands_in_lane = [&](const Op& one) {
    return one.state == Op::State::kSubmitted && one.lane == context->lane;
  };
  const bool all_over = before == nullptr && op.after.empty();
  const bool all_in_lane =
      (before == nullptr || stands_in_lane(*before)) &&
      std::ranges::all_of(op.after, [&](const OpPtr& one) { return stands_in_lane(*one); });
  switch (op.kind) {
    case Op::Kind::kWork:
      if (!all_in_lane) return false;
      op.lane = context->lane;
      op.place = submit_work(*context, op, before);
      break;
    case Op::Kind::kMarker:
      if (!all_in_lane) return false;
      if (all_over) {
        op.end_ns = op.since_ns;
        break;
      }
      op.lane = context->lane;
      op.place = before == nullptr ? 0 : before->place;
      for (const OpPtr& one : op.after) op.place = std::max(op.place, one->place);
      break;
    case Op::Kind::kDelay:
    case Op::Kind::kHost:
    case Op::Kind::kPoll:
      if (!all_over) return false;
      op.end_ns = op.since_ns + op.duration_ns;
      break;
    case Op::Kind::kBranch:
      if (!all_over) return false;
      op.end_ns = op.since_ns;
      // Another look comes that much after now: turns that are late are not made up for.
      if (op.duration_ns > 0) op.end_ns = std::max(op.since_ns, clock_.now()) + op.duration_ns;
      break;
  }
  op.state = Op::State::kSubmitted;
  op.after.clear();
  return true;
}

void Executor::pop(Stream& stream, std::uint64_t end_ns) {
  const OpPtr op = stream.ops.front();
  op->state = Op::State::kDone;
  op->end_ns = end_ns;
  stream.last_end_ns = end_ns;
  op->effect = nullptr;
  op->ready = nullptr;
  op->next = nullptr;
  stream.ops.pop_front();
  --stream.submitted;
  if (op->needs_service) --stream.services;
  if (op->settle) std::exchange(op->settle, nullptr)();
}

// The head is in a lane: it and the following ones there are over as far as the lane got.
bool Executor::finish_in_lane(Stream& stream) {
  const auto context = stream.context.lock();
  if (!context) return false;
  bool moved = false;
  std::uint64_t executed = 0;
  while (stream.submitted > 0 && stream.ops.front()->lane != 0) {
    const OpPtr op = stream.ops.front();
    const bool is_read = stream.ops.size() == 1 || op.use_count() > 2 || stream.submitted == 1 ||
                         stream.ops[1]->lane == 0;
    if (op->place > executed || is_read) {
      const Progress progress = context->device.time->look(op->lane, op->place);
      if (!progress.done) return moved;
      executed = std::max(executed, progress.executed_ns);
      pop(stream, std::max(op->since_ns, progress.time_ns));
    } else {
      pop(stream, op->since_ns);
    }
    moved = true;
  }
  return moved;
}

bool Executor::finish(Lock& lock, Stream& stream) {
  bool moved = false;
  while (stream.submitted > 0) {
    const OpPtr op = stream.ops.front();
    if (op->state == Op::State::kRunning) break;
    if (op->lane != 0) {
      if (!finish_in_lane(stream)) break;
      moved = true;
      continue;
    }
    if (op->kind == Op::Kind::kHost) break;
    const std::uint64_t now = clock_.now();
    if (op->kind == Op::Kind::kPoll ? !op->ready() : op->end_ns > now) break;
    if (op->kind == Op::Kind::kBranch) {
      if (op->end_ns > branch_until_ns_) break;
      branch(stream);
      return true;
    }
    if (op->effect) run_effect(lock, *op);
    if (op->is_cancelled) return true;
    pop(stream, op->kind == Op::Kind::kPoll ? now : op->end_ns);
    moved = true;
  }
  return moved;
}

// The head is over: the work that it chose replaces it. Nothing after it was submitted yet.
void Executor::branch(Stream& stream) {
  const OpPtr op = stream.ops.front();
  const std::vector<OpPtr> chosen = op->next();
  pop(stream, op->end_ns);
  stream.ops.insert(stream.ops.begin(), chosen.begin(), chosen.end());
  for (const OpPtr& one : chosen) need_service(stream, *one);
  // Sleeping threads did not know of these, and no thread has taken care of them.
  worker_idles_ = false;
  clock_.wake();
}

// Without the lock. The op stays at the head of its stream meanwhile.
void Executor::run_effect(Lock& lock, Op& op) {
  op.state = Op::State::kRunning;
  const auto effect = std::exchange(op.effect, nullptr)();
  lock.unlock();
  if (effect) effect();
  lock.lock();
  // A waiting thread could not know until now when it would be over.
  if (sleepers_ > 0) clock_.wake();
}

bool Executor::advance(Lock& lock, Stream& stream) {
  bool moved = finish(lock, stream);
  while (stream.submitted < stream.ops.size()) {
    const Op* const before =
        stream.submitted == 0 ? nullptr : stream.ops[stream.submitted - 1].get();
    if (!submit(stream, *stream.ops[stream.submitted], before)) break;
    ++stream.submitted;
    moved = true;
  }
  return moved;
}

void Executor::pump(Lock& lock) {
  branch_until_ns_ = clock_.now();
  for (bool moved = true; moved;) {
    moved = false;
    // A copy: effects run without the lock.
    const std::vector<StreamPtr> streams = busy_;
    for (const StreamPtr& stream : streams) moved |= advance(lock, *stream);
    std::erase_if(busy_, [](const StreamPtr& stream) { return !stream->is_busy(); });
  }
}

void Executor::wait(Lock& lock, const std::function<bool()>& over) {
  for (;;) {
    const std::uint32_t turn = clock_.turn();
    pump(lock);
    if (over()) return;
    sleep(lock, next_due(), turn);
  }
}

void Executor::sleep(Lock& lock, const Due& due, std::uint32_t turn) {
  ++sleepers_;
  lock.unlock();
  clock_.wait(due.time_ns, turn, due.contended ? kLookEvery : kNoWish);
  lock.lock();
  --sleepers_;
}

Executor::Due Executor::due_of(const Stream& stream) {
  const Op& head = *stream.ops.front();
  const auto context = stream.context.lock();
  if (stream.submitted == 0 || head.state == Op::State::kRunning || !context) return {kNoWish};
  if (head.lane != 0) {
    const Progress progress = context->device.time->look(head.lane, head.place);
    return {progress.time_ns, progress.contended};
  }
  // A host function is for the worker, which is awake.
  if (head.kind == Op::Kind::kHost) return {kNoWish};
  if (head.kind == Op::Kind::kPoll) return {clock_.now() + kPollEvery};
  return {head.end_ns};
}

Executor::Due Executor::next_due() {
  Due earliest = {kNoWish};
  for (const StreamPtr& stream : busy_) {
    if (!stream->is_busy()) continue;
    const Due due = due_of(*stream);
    earliest.time_ns = std::min(earliest.time_ns, due.time_ns);
    earliest.contended |= due.contended;
  }
  return earliest;
}

void Executor::cancel(const std::vector<StreamPtr>& streams) {
  for (const StreamPtr& stream : streams) {
    const std::uint64_t now = clock_.now();
    for (const OpPtr& op : stream->ops) op->is_cancelled = true;
    stream->submitted = stream->ops.size();
    while (!stream->ops.empty()) pop(*stream, now);
  }
  std::erase_if(busy_, [](const StreamPtr& stream) { return !stream->is_busy(); });
  clock_.wake();
}

void Executor::need_service(Stream& stream, Op& op) {
  op.needs_service = true;
  ++stream.services;
  if (!has_worker_) start_worker();
  const bool is_prompt = op.kind == Op::Kind::kHost || op.kind == Op::Kind::kPoll;
  if (worker_idles_ || is_prompt || due_of(stream).time_ns < worker_until_ns_) {
    worker_idles_ = false;
    clock_.wake();
  }
}

bool Executor::is_service_needed() const {
  return std::ranges::any_of(busy_, [](const StreamPtr& stream) { return stream->services > 0; });
}

bool Executor::run_host_functions(Lock& lock) {
  bool ran = false;
  const std::vector<StreamPtr> streams = busy_;
  for (const StreamPtr& stream : streams) {
    if (stream->submitted == 0) continue;
    const OpPtr op = stream->ops.front();
    if (op->kind != Op::Kind::kHost || op->state != Op::State::kSubmitted) continue;
    in_host_function = true;
    run_effect(lock, *op);
    in_host_function = false;
    ran = true;
    if (!op->is_cancelled) pop(*stream, clock_.now());
  }
  return ran;
}

void Executor::start_worker() {
  has_worker_ = true;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread worker([this] { work(); });
  ::pthread_setname_np(worker.native_handle(), "cuda-sim");
  worker.detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Executor::work() {
  clock_.take_part();
  Lock lock(mutex_);
  for (;;) {
    const std::uint32_t turn = clock_.turn();
    pump(lock);
    if (run_host_functions(lock)) continue;
    const bool needed = is_service_needed();
    const Due due = needed ? next_due() : Due{kNoWish};
    worker_idles_ = !needed;
    worker_until_ns_ = due.time_ns;
    sleep(lock, due, turn);
  }
}

}  // namespace tranche::sim::cuda
