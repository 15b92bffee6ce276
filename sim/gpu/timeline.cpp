#include "sim/gpu/timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tranche::sim {
namespace {

std::span<Lane> lanes_of(Timeline& timeline) { return {timeline.lanes, timeline.lane_count}; }

bool share_turns(const Lane& a, const Lane& b) {
  return a.id == b.id || (a.group != kNoGroup && a.group == b.group);
}

// Executed at `time`, which is within the run.
std::uint64_t executed_at(const Lane& lane, std::uint64_t time) {
  const std::uint64_t work = (time - lane.run_begin_ns) * lane.rate / kFullRate;
  return std::min(lane.submitted_ns, lane.run_executed_ns + work);
}

std::uint64_t time_at(std::uint64_t begin, std::uint64_t executed, std::uint32_t rate,
                      std::uint64_t place) {
  return begin + ((place - executed) * kFullRate + rate - 1) / rate;
}

class Walk {
 public:
  Walk(Timeline& timeline, std::uint64_t slice_ns, TimelineSink* sink)
      : timeline_(timeline), slice_ns_(slice_ns), sink_(sink) {}

  // One step: as long as all rates are constant, and not beyond `until`.
  void step(std::uint64_t until) {
    choose();
    std::uint64_t end = until;
    if (others_wait_) end = std::min(end, timeline_.slice_end_ns);
    for (const Lane& lane : lanes_of(timeline_)) {
      if (lane.rate == 0) continue;
      end = std::min(
          end, time_at(lane.run_begin_ns, lane.run_executed_ns, lane.rate, lane.submitted_ns));
    }
    for (Lane& lane : lanes_of(timeline_)) {
      if (lane.rate == 0) continue;
      lane.executed_ns = executed_at(lane, end);
      if (sink_ != nullptr) sink_->ran(lane, timeline_.now_ns, end);
    }
    timeline_.now_ns = end;
  }

  void set_rate(Lane& lane, std::uint32_t rate) {
    if (lane.rate == rate) return;
    if (lane.rate != 0 && lane.run_begin_ns < timeline_.now_ns) close(lane);
    lane.rate = rate;
    lane.run_begin_ns = timeline_.now_ns;
    lane.run_executed_ns = lane.executed_ns;
  }

 private:
  void close(const Lane& lane) {
    timeline_.segments += 1;
    if (sink_ == nullptr) return;
    sink_->closed({.sequence = timeline_.segments,
                   .lane = lane.id,
                   .begin_ns = lane.run_begin_ns,
                   .end_ns = timeline_.now_ns,
                   .executed_ns = lane.run_executed_ns,
                   .rate = lane.rate});
  }

  // Whose turn it is at now_ns, and at which rates they run.
  void choose() {
    const std::uint32_t count = timeline_.lane_count;
    if (count == 0) return;
    const Lane& holder = timeline_.lanes[timeline_.turn];
    bool holder_works = false;
    bool is_idle = true;
    std::uint32_t next = count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t at = (timeline_.turn + i) % count;
      const Lane& lane = timeline_.lanes[at];
      is_idle = is_idle && lane.rate == 0;
      if (!lane.has_work()) continue;
      if (share_turns(lane, holder)) {
        holder_works = true;
      } else if (next == count) {
        next = at;
      }
    }
    // The first lane on an idle GPU begins a slice.
    if (is_idle && holder_works) timeline_.slice_end_ns = timeline_.now_ns + slice_ns_;
    others_wait_ = holder_works && next != count;
    if (next != count && (!holder_works || timeline_.now_ns >= timeline_.slice_end_ns)) {
      others_wait_ = holder_works || others_work(timeline_.lanes[next], holder);
      timeline_.turn = next;
      timeline_.slice_end_ns = timeline_.now_ns + slice_ns_;
    }
    give_rates(timeline_.lanes[timeline_.turn]);
  }

  // Whether another lane that shares turns with neither has work.
  bool others_work(const Lane& a, const Lane& b) const {
    return std::ranges::any_of(lanes_of(timeline_), [&](const Lane& lane) {
      return lane.has_work() && !share_turns(lane, a) && !share_turns(lane, b);
    });
  }

  void give_rates(const Lane& turn) {
    std::uint64_t wanted = 0;
    for (const Lane& lane : lanes_of(timeline_)) {
      if (lane.has_work() && share_turns(lane, turn)) wanted += lane.cap;
    }
    for (Lane& lane : lanes_of(timeline_)) {
      const bool runs = lane.has_work() && share_turns(lane, turn);
      std::uint64_t rate = runs ? lane.cap : 0;
      if (runs && wanted > kFullRate) rate = std::max<std::uint64_t>(1, rate * kFullRate / wanted);
      set_rate(lane, static_cast<std::uint32_t>(rate));
    }
  }

  Timeline& timeline_;
  std::uint64_t slice_ns_;
  TimelineSink* sink_;
  bool others_wait_ = false;
};

bool anyone_works(const Timeline& timeline) {
  return std::any_of(timeline.lanes, timeline.lanes + timeline.lane_count,
                     [](const Lane& lane) { return lane.has_work(); });
}

}  // namespace

Lane* find_lane(Timeline& timeline, std::uint64_t id) {
  for (Lane& lane : lanes_of(timeline)) {
    if (lane.id == id) return &lane;
  }
  return nullptr;
}

const Lane* find_lane(const Timeline& timeline, std::uint64_t id) {
  return find_lane(const_cast<Timeline&>(timeline), id);  // NOLINT: gives it back const
}

void advance(Timeline& timeline, std::uint64_t until_ns, std::uint64_t slice_ns,
             TimelineSink& sink) {
  Walk walk(timeline, slice_ns, &sink);
  while (timeline.now_ns < until_ns && anyone_works(timeline)) walk.step(until_ns);
  if (timeline.now_ns >= until_ns) return;
  // Idle: any lane that still has a rate ran out of work at now_ns.
  for (Lane& lane : lanes_of(timeline)) walk.set_rate(lane, 0);
  timeline.now_ns = until_ns;
}

bool add_lane(Timeline& timeline, const Lane& lane) {
  if (timeline.lane_count == kMaxLanes) return false;
  Lane& added = timeline.lanes[timeline.lane_count];
  added = {.id = lane.id,
           .cap = std::clamp<std::uint32_t>(lane.cap, 1, kFullRate),
           .group = lane.group,
           .process = lane.process,
           .holder = lane.holder,
           .use = lane.use};
  timeline.lane_count += 1;
  return true;
}

void remove_lane(Timeline& timeline, std::uint64_t id, TimelineSink& sink) {
  Lane* const lane = find_lane(timeline, id);
  if (lane == nullptr) return;
  Walk(timeline, 0, &sink).set_rate(*lane, 0);
  const auto index = static_cast<std::uint32_t>(lane - timeline.lanes);
  std::copy(lane + 1, timeline.lanes + timeline.lane_count, lane);
  timeline.lane_count -= 1;
  // The turn continues after the removed lane, or at once if it was that lane's.
  if (timeline.turn == index) timeline.slice_end_ns = timeline.now_ns;
  if (timeline.turn >= index && timeline.lane_count > 0) {
    timeline.turn = (timeline.turn + timeline.lane_count - 1) % timeline.lane_count;
  }
  if (timeline.lane_count == 0) timeline.turn = 0;
}

std::optional<std::uint64_t> time_of(const Timeline& timeline, std::span<const Segment> history,
                                     const Lane& lane, std::uint64_t place_ns) {
  if (lane.executed_ns < place_ns) return std::nullopt;
  if (lane.rate != 0 && lane.run_executed_ns < place_ns) {
    return time_at(lane.run_begin_ns, lane.run_executed_ns, lane.rate, place_ns);
  }
  // The newest segment that began before the place holds it.
  const std::uint64_t oldest =
      timeline.segments > history.size() ? timeline.segments - history.size() : 0;
  for (std::uint64_t sequence = timeline.segments; sequence > oldest; --sequence) {
    const Segment& segment = history[sequence % history.size()];
    if (segment.sequence != sequence) break;
    if (segment.lane != lane.id || segment.executed_ns >= place_ns) continue;
    return std::min(segment.end_ns,
                    time_at(segment.begin_ns, segment.executed_ns, segment.rate, place_ns));
  }
  return std::nullopt;
}

std::uint64_t predict(const Timeline& timeline, std::uint64_t lane_id, std::uint64_t place_ns,
                      std::uint64_t slice_ns, std::uint64_t horizon_ns) {
  thread_local Timeline future;
  std::memcpy(&future, &timeline, offsetof(Timeline, lanes));
  std::copy_n(timeline.lanes, timeline.lane_count, future.lanes);
  const Lane* const lane = find_lane(future, lane_id);
  if (lane == nullptr || lane->submitted_ns < place_ns) return horizon_ns;
  Walk walk(future, slice_ns, nullptr);
  while (lane->executed_ns < place_ns && future.now_ns < horizon_ns) {
    walk.step(horizon_ns);
  }
  if (lane->executed_ns < place_ns) return horizon_ns;
  if (lane->rate == 0 || lane->run_executed_ns >= place_ns) return timeline.now_ns;
  return std::max(timeline.now_ns,
                  time_at(lane->run_begin_ns, lane->run_executed_ns, lane->rate, place_ns));
}

}  // namespace tranche::sim
