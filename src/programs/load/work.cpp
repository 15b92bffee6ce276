#include "load/work.h"

#include <algorithm>

#include "load/samples.h"

namespace tranche::load {
namespace {

// Counts the launches, and decides when the load is done.
class Progress {
 public:
  static Result<Progress> begin(const Load& load, Gpu& gpu, const Stop& stop, Report& report) {
    ASSIGN_OR_RETURN(const nanoseconds now, gpu.now());
    return Progress(load, gpu, stop, report, now);
  }

  nanoseconds start() const { return start_; }

  // Notes that `launches` more launches were answered, the last one now. Returns the time.
  Result<nanoseconds> answered(std::uint64_t launches) {
    ASSIGN_OR_RETURN(const nanoseconds now, gpu_.now());
    report_.launches += launches;
    const auto kernels = std::max(1U, load_.graph_nodes);
    report_.work = load_.kernel * (report_.launches * kernels);
    report_.elapsed = now - start_;
    return now;
  }

  // `launched`: how many launches were requested. `next`: when the next one is due.
  bool enough(nanoseconds next, std::uint64_t launched) const {
    if (stop_.told()) return true;
    if (load_.count > 0 && launched >= load_.count) return true;
    return load_.duration.count() > 0 && next - start_ >= load_.duration;
  }

 private:
  Progress(const Load& load, Gpu& gpu, const Stop& stop, Report& report, nanoseconds now)
      : load_(load), gpu_(gpu), stop_(stop), report_(report), start_(now) {}

  const Load& load_;
  Gpu& gpu_;
  const Stop& stop_;
  Report& report_;
  nanoseconds start_;
};

Result<void> hold(const Load& load, Stop& stop) {
  if (load.duration.count() > 0) {
    stop.sleep(load.duration);
  } else {
    stop.wait();
  }
  return {};
}

Result<void> launch_once(const Load& load, Gpu& gpu, Memory& memory) {
  if (load.scratch.value > 0) TRY(memory.borrow(load.scratch));
  TRY(gpu.launch());
  return gpu.finish();
}

// Makes one launch after another. A duty below 100 begins one launch per kernel time / duty.
Result<void> compute(const Load& load, Gpu& gpu, Memory& memory, Stop& stop, Report& report) {
  ASSIGN_OR_RETURN(auto progress, Progress::begin(load, gpu, stop, report));
  const nanoseconds period = load.kernel * std::max(1U, load.graph_nodes) * 100 / load.duty;
  nanoseconds now = progress.start();
  while (!progress.enough(now, report.launches)) {
    const nanoseconds next = now + period;
    TRY(launch_once(load, gpu, memory));
    ASSIGN_OR_RETURN(now, progress.answered(1));
    if (load.duty >= 100 || next <= now) continue;
    stop.sleep(next - now);
    ASSIGN_OR_RETURN(now, gpu.now());
  }
  return {};
}

// The time of a request counts from when it was due, even if the one before was not answered by
// then. Otherwise a slow answer would hide that other requests waited behind it.
Result<void> latency(const Load& load, Gpu& gpu, Memory& memory, Stop& stop, Report& report) {
  ASSIGN_OR_RETURN(auto progress, Progress::begin(load, gpu, stop, report));
  Samples samples;
  Result<void> result;
  nanoseconds now = progress.start();
  nanoseconds due = now;
  while (!progress.enough(std::max(now, due), report.launches)) {
    if (due > now) {
      stop.sleep(due - now);
      if (stop.told()) break;
    }
    result = launch_once(load, gpu, memory);
    if (!result) break;
    ASSIGN_OR_RETURN(now, progress.answered(1));
    samples.add(now - due);
    due = load.every.count() > 0 ? due + load.every : now;
  }
  report.latency = samples.percentiles();
  return result;
}

// Keeps load.depth launches queued: waits for the oldest one before it queues the next.
Result<void> storm(const Load& load, Gpu& gpu, Memory& memory, Stop& stop, Report& report) {
  std::vector<CUevent> ends(load.depth);
  for (CUevent& end : ends) {
    ASSIGN_OR_RETURN(end, gpu.event());
  }
  ASSIGN_OR_RETURN(auto progress, Progress::begin(load, gpu, stop, report));
  std::uint64_t queued = 0;
  nanoseconds now = progress.start();
  while (!progress.enough(now, queued)) {
    const CUevent place = ends[queued % ends.size()];
    if (queued >= ends.size()) {
      TRY_CUDA(gpu.cuda(), cuEventSynchronize(place));
      ASSIGN_OR_RETURN(now, progress.answered(1));
    }
    if (load.scratch.value > 0) TRY(memory.borrow(load.scratch));
    TRY(gpu.launch());
    TRY_CUDA(gpu.cuda(), cuEventRecord(place, gpu.stream()));
    ++queued;
  }
  TRY(gpu.finish());
  TRY(progress.answered(queued - report.launches));
  return {};
}

Result<void> fault(Gpu& gpu, Report& report) {
  TRY(gpu.launch_fault());
  TRY(gpu.finish());
  report.launches = 1;
  return {};
}

}  // namespace

Result<void> do_work(const Load& load, Gpu& gpu, Memory& memory, Stop& stop, Report& report) {
  switch (load.pattern) {
    case Pattern::kProbe:
      return {};
    case Pattern::kHold:
      return hold(load, stop);
    case Pattern::kCompute:
      return compute(load, gpu, memory, stop, report);
    case Pattern::kLatency:
      return latency(load, gpu, memory, stop, report);
    case Pattern::kStorm:
      return storm(load, gpu, memory, stop, report);
    case Pattern::kFault:
      return fault(gpu, report);
  }
  return fail(Code::kInternal, "no such pattern");
}

}  // namespace tranche::load
