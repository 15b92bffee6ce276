#pragma once
// Events: when something in a stream finished, on the machine's clock.
//
// An event that other processes may open is in the shared state too (shared_events.h), where they
// see whether its last recording is over, whichever process made it.

#include <memory>

#include "sim/cuda/stream.h"
#include "sim/gpu/shared_events.h"

namespace tranche::sim::cuda {

struct Node;

struct Device;

// This process's part in an event shared by several processes. A recording outlives the event: its
// ops hold their own part.
class EventShare {
 public:
  // Holds `id`, for which `slot`, the caller's, already has a hold.
  EventShare(const Simulation& sim, const ProcessSlot& slot, SharedEventId id)
      : sim_(sim), slot_(slot), id_(id) {}
  EventShare(const EventShare&) = delete;
  EventShare& operator=(const EventShare&) = delete;
  ~EventShare() { drop_shared_event(sim_, slot_, id_); }
  // A new event of the device. nullptr: the machine has no room for it.
  static std::shared_ptr<EventShare> make(const Device& device);

  SharedEventId id() const { return id_; }
  std::uint64_t begin() const { return begin_recording(sim_, slot_, id_); }
  void end(std::uint64_t recording) const { end_recording(sim_, id_, recording); }
  std::uint64_t last() const { return last_recording(sim_, id_); }
  bool is_over(std::uint64_t recording) const { return is_recording_over(sim_, id_, recording); }

 private:
  const Simulation& sim_;
  const ProcessSlot& slot_;
  SharedEventId id_;
};

struct Event {
  std::uint64_t number = 0;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  OpPtr op;                           // of its last recording here; null: never recorded
  std::shared_ptr<EventShare> share;  // null: it is private to this process
  std::uint64_t recording = 0;        // the recording of the share that `op` represents
  // Set if it was recorded in a capture: it represents these nodes there.
  std::shared_ptr<Capture> capture;
  std::vector<std::shared_ptr<Node>> captured;

  bool is_timed() const { return (flags & abi::CU_EVENT_DISABLE_TIMING) == 0; }
  // The number of the last recording if `op` does not represent it: made under another handle,
  // usually in another process. 0: `op` does.
  std::uint64_t recorded_elsewhere() const {
    const std::uint64_t last = share ? share->last() : 0;
    return last == recording ? 0 : last;
  }
  bool is_over() const {
    const std::uint64_t elsewhere = recorded_elsewhere();
    if (elsewhere != 0) return share->is_over(elsewhere);
    return op == nullptr || op->is_done();
  }
};
using EventPtr = std::shared_ptr<Event>;

}  // namespace tranche::sim::cuda
