#include "sim/gpu/gpu_time.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "sim/gpu/timeline.h"
#include "sim/state/clock.h"

namespace tranche::sim {
namespace {

constexpr std::uint64_t kLookEvery = 1'000'000;                 // ns between two liveness checks
constexpr std::uint64_t kHorizon = 10'000'000;                  // ns that a prediction looks ahead
constexpr std::uint64_t kMostPending = 10'000'000'000'000'000;  // ns; keeps products in 64 bits

void copy_used(const Timeline& from, Timeline& to) {
  std::memcpy(static_cast<void*>(&to), &from, offsetof(Timeline, lanes));
  std::copy_n(from.lanes, from.lane_count, to.lanes);
}

struct Busy {
  std::uint32_t process = 0;
  std::uint32_t use = 0;
  std::uint64_t window = 0;
  std::uint64_t ns = 0;
};

// Stores closed segments where the next timeline will find them, and sums up the processes' busy
// times.
class Recorder : public TimelineSink {
 public:
  Recorder(Turns& turns, std::uint64_t period_ns) : turns_(turns), period_ns_(period_ns) {}

  void ran(const Lane& lane, std::uint64_t begin_ns, std::uint64_t end_ns) override {
    while (begin_ns < end_ns) {
      const std::uint64_t window = begin_ns / period_ns_;
      const std::uint64_t end = std::min(end_ns, (window + 1) * period_ns_);
      add(lane, window, (end - begin_ns) * lane.rate / kFullRate);
      begin_ns = end;
    }
  }
  // Segments beyond the published timeline's count are not looked at.
  void closed(const Segment& segment) override {
    turns_.segments[segment.sequence % kMaxSegments] = segment;
  }
  const std::vector<Busy>& busy() const { return busy_; }

 private:
  void add(const Lane& lane, std::uint64_t window, std::uint64_t ns) {
    for (Busy& busy : busy_) {
      if (busy.process == lane.process && busy.use == lane.use && busy.window == window) {
        busy.ns += ns;
        return;
      }
    }
    busy_.push_back({lane.process, lane.use, window, ns});
  }

  Turns& turns_;
  std::uint64_t period_ns_;
  std::vector<Busy> busy_;
};

void record(State& state, const Busy& busy) {
  Window& window = state.processes[busy.process].uses[busy.use].windows[busy.window % kMaxWindows];
  const std::uint64_t shown = window.index.load(std::memory_order_relaxed);
  if (shown > busy.window) return;
  if (shown < busy.window) {
    window.busy_ns.store(0, std::memory_order_relaxed);
    window.index.store(busy.window, std::memory_order_release);
  }
  window.busy_ns.fetch_add(busy.ns, std::memory_order_relaxed);
}

bool is_of(const Turns& turns, const UseTarget& target) {
  return turns.used.load(std::memory_order_acquire) != 0 && turns.gpu == target.gpu &&
         turns.gpu_instance == target.gpu_instance &&
         turns.compute_instance == target.compute_instance;
}

}  // namespace

// Holds the device's lock; changes are published at its end.
class GpuTime::Transaction {
 public:
  explicit Transaction(const GpuTime& time)
      : sim_(*time.sim_),
        turns_(*time.turns_),
        slice_ns_(time_slice_ns(sim_.state(), turns_.gpu)),
        recorder_(turns_, std::uint64_t{model().sample_period_us} * 1000) {
    if (::pthread_mutex_lock(&turns_.lock) == EOWNERDEAD) {
      ::pthread_mutex_consistent(&turns_.lock);
    }
    copy_used(turns_.timelines[turns_.active.load()], line_);
    bury();
    sim::advance(line_, now_ns(sim_.state()), slice_ns_, recorder_);
  }
  ~Transaction() {
    const std::uint32_t next = 1 - turns_.active.load();
    copy_used(line_, turns_.timelines[next]);
    turns_.active.store(next, std::memory_order_release);
    for (const Busy& busy : recorder_.busy()) {
      record(sim_.state(), busy);
      turns_.busy_ns.fetch_add(busy.ns, std::memory_order_relaxed);
    }
    ::pthread_mutex_unlock(&turns_.lock);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  Timeline& line() { return line_; }
  std::span<const Segment> history() const { return turns_.segments; }
  std::uint64_t slice_ns() const { return slice_ns_; }
  void remove(std::uint64_t lane) { sim::remove_lane(line_, lane, recorder_); }

 private:
  const Model& model() const {
    const State& state = sim_.state();
    return state.models[state.gpus[turns_.gpu].model];
  }

  // What the dead had submitted vanishes.
  void bury() {
    const std::uint64_t real = real_ns();
    const bool look = real - turns_.looked_ns.load() >= kLookEvery;
    if (look) turns_.looked_ns.store(real);
    for (std::uint32_t i = line_.lane_count; i-- > 0;) {
      const Lane& lane = line_.lanes[i];
      const ProcessSlot& slot = sim_.state().processes[lane.process];
      const bool same = sim_.is_taken(lane.process) && slot.holder.load() == lane.holder;
      if (!same || (look && !sim_.holder(lane.process))) remove(lane.id);
    }
  }

  const Simulation& sim_;
  Turns& turns_;
  std::uint64_t slice_ns_;
  Recorder recorder_;
  static thread_local Timeline line_;
};

// Too large for every stack; a thread has one transaction at a time.
thread_local Timeline GpuTime::Transaction::line_ = {};

Result<GpuTime> GpuTime::open(const Simulation& sim, const UseTarget& target) {
  State& state = sim.state();
  const Simulation::Guard guard(state);
  for (Turns& turns : state.turns) {
    if (is_of(turns, target)) return GpuTime(sim, turns);
    if (turns.used.load() != 0) continue;
    turns.gpu = target.gpu;
    turns.gpu_instance = target.gpu_instance;
    turns.compute_instance = target.compute_instance;
    make_shared_lock(turns.lock);
    turns.used.store(1, std::memory_order_release);
    return GpuTime(sim, turns);
  }
  return fail(Code::kUnavailable, "more GPUs and MIG devices in use than the simulation holds");
}

Result<std::uint64_t> GpuTime::add_lane(const LaneSpec& spec) const {
  State& state = sim_->state();
  const std::uint64_t id = state.lane_ids.fetch_add(1) + 1;
  const Lane lane = {.id = id,
                     .cap = spec.cap,
                     .group = spec.group,
                     .process = static_cast<std::uint32_t>(spec.process - state.processes),
                     .holder = spec.process->holder.load(),
                     .use = static_cast<std::uint32_t>(spec.use - spec.process->uses)};
  Transaction transaction(*this);
  if (sim::add_lane(transaction.line(), lane)) return id;
  return fail(Code::kUnavailable, "too many contexts share the GPU");
}

void GpuTime::remove_lane(std::uint64_t lane) const { Transaction(*this).remove(lane); }

void GpuTime::remove_lanes_of(const ProcessSlot& process, std::uint64_t holder) const {
  const auto index = static_cast<std::uint32_t>(&process - sim_->state().processes);
  Transaction transaction(*this);
  const Timeline& line = transaction.line();
  for (std::uint32_t i = line.lane_count; i-- > 0;) {
    const Lane& lane = line.lanes[i];
    if (lane.process == index && lane.holder == holder) transaction.remove(lane.id);
  }
}

std::uint64_t GpuTime::submit(std::uint64_t lane_id, std::uint64_t work_ns) const {
  Transaction transaction(*this);
  Lane* const lane = find_lane(transaction.line(), lane_id);
  if (lane == nullptr) return 0;
  const std::uint64_t pending = lane->submitted_ns - lane->executed_ns;
  lane->submitted_ns += std::min(work_ns, kMostPending - std::min(kMostPending, pending));
  return lane->submitted_ns;
}

Progress GpuTime::look(std::uint64_t lane_id, std::uint64_t place_ns) const {
  Transaction transaction(*this);
  const Timeline& line = transaction.line();
  const Lane* const lane = find_lane(line, lane_id);
  if (lane == nullptr) return {.done = true, .executed_ns = place_ns, .time_ns = line.now_ns};
  Progress progress = {.done = lane->executed_ns >= place_ns, .executed_ns = lane->executed_ns};
  if (progress.done) {
    progress.time_ns = time_of(line, transaction.history(), *lane, place_ns).value_or(line.now_ns);
    return progress;
  }
  for (const Lane& other : std::span(line.lanes, line.lane_count)) {
    progress.contended |= other.id != lane_id && other.has_work();
  }
  progress.time_ns =
      predict(line, lane_id, place_ns, transaction.slice_ns(), line.now_ns + kHorizon);
  return progress;
}

std::uint64_t GpuTime::end_of(std::uint64_t lane_id) const {
  Transaction transaction(*this);
  const Lane* const lane = find_lane(transaction.line(), lane_id);
  return lane == nullptr ? 0 : lane->submitted_ns;
}

void GpuTime::bring_up_to_date() const { const Transaction transaction(*this); }

std::uint64_t time_slice_ns(const State& state, std::uint32_t gpu) {
  const std::uint64_t own = state.models[state.gpus[gpu].model].time_slice_ns;
  switch (static_cast<TimeSlice>(state.gpus[gpu].time_slice.load(std::memory_order_relaxed))) {
    case TimeSlice::kShort:
      return own / 2;
    case TimeSlice::kMedium:
      return own * 2;
    case TimeSlice::kLong:
      return own * 4;
    default:
      return own;
  }
}

void bring_up_to_date(const Simulation& sim, std::uint32_t gpu) {
  for (const Turns& turns : sim.state().turns) {
    if (turns.used.load(std::memory_order_acquire) == 0) break;
    if (turns.gpu != gpu) continue;
    const auto time = GpuTime::open(sim, {.gpu = gpu,
                                          .gpu_instance = turns.gpu_instance,
                                          .compute_instance = turns.compute_instance});
    if (time) time->bring_up_to_date();
  }
}

void end_work(const Simulation& sim, ProcessSlot& slot, std::uint64_t holder) {
  if (slot.holder.load() != holder) return;
  for (Use& use : slot.uses) {
    const bool is_client = use.used.load(std::memory_order_acquire) != 0 &&
                           use.kind == static_cast<std::uint32_t>(UseKind::kMps);
    if (!is_client) continue;
    const auto time = GpuTime::open(sim, {.gpu = use.gpu,
                                          .gpu_instance = use.gpu_instance,
                                          .compute_instance = use.compute_instance});
    if (time) time->remove_lanes_of(slot, holder);
    remove_use(sim, use);
  }
}

}  // namespace tranche::sim
