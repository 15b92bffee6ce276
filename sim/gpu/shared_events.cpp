#include "sim/gpu/shared_events.h"

#include "sim/gpu/sharers.h"

namespace tranche::sim {
namespace {

SharedEvent& event_of(const Simulation& sim, SharedEventId id) {
  return sim.state().shared_events[id.place];
}

SharedEvent* find(const Simulation& sim, SharedEventId id) {
  if (id.place >= kMaxSharedEvents) return nullptr;
  SharedEvent& event = event_of(sim, id);
  return id.serial != 0 && event.serial.load() == id.serial ? &event : nullptr;
}

void forget_the_dead(const Simulation& sim, SharedEvent& event) {
  if (close_ranks(sim, event.sharers) == 0) event.serial.store(0, std::memory_order_release);
}

// If there is no room, places of processes that died unnoticed are searched.
std::optional<std::uint32_t> free_place(const Simulation& sim) {
  for (const bool looks : {false, true}) {
    for (std::uint32_t place = 0; place < kMaxSharedEvents; ++place) {
      SharedEvent& event = sim.state().shared_events[place];
      if (looks) forget_the_dead(sim, event);
      if (event.serial.load() == 0) return place;
    }
  }
  return std::nullopt;
}

Recording& recording_of(SharedEvent& event, std::uint64_t number) {
  return event.recordings[number % kMaxRecordings];
}

}  // namespace

Result<SharedEventId> add_shared_event(const Simulation& sim, const ProcessSlot& slot,
                                       const UseTarget& device) {
  State& state = sim.state();
  const Simulation::Guard guard(state);
  const auto place = free_place(sim);
  if (!place) return fail(Code::kUnavailable, "too many events are shared on this machine");
  SharedEvent& event = state.shared_events[*place];
  event.recorded.store(0);
  event.maker_slot = static_cast<std::uint32_t>(&slot - state.processes);
  event.maker_claim = slot.holder.load();
  event.gpu = device.gpu;
  event.gpu_instance = device.gpu_instance;
  for (Recording& recording : event.recordings) recording.number = 0;
  add_sharer(sim, event.sharers, slot);
  const std::uint64_t serial = state.shared_event_serial.fetch_add(1) + 1;
  event.serial.store(serial, std::memory_order_release);
  return SharedEventId{.place = *place, .serial = serial};
}

Result<void> hold_shared_event(const Simulation& sim, const ProcessSlot& slot, SharedEventId id) {
  const Simulation::Guard guard(sim.state());
  SharedEvent* const event = find(sim, id);
  if (event == nullptr) return fail(Code::kNotFound, "there is no such event");
  if (Sharer* const own = find_sharer(sim, event->sharers, slot); own != nullptr) {
    own->holds.fetch_add(1);
    return {};
  }
  forget_the_dead(sim, *event);
  if (event->serial.load() == 0) return fail(Code::kNotFound, "nobody holds that event");
  if (add_sharer(sim, event->sharers, slot)) return {};
  return fail(Code::kUnavailable, "too many processes share that event");
}

void drop_shared_event(const Simulation& sim, const ProcessSlot& slot, SharedEventId id) {
  const Simulation::Guard guard(sim.state());
  SharedEvent* const event = find(sim, id);
  if (event == nullptr) return;
  Sharer* const own = find_sharer(sim, event->sharers, slot);
  if (own != nullptr) own->holds.fetch_sub(1);
  forget_the_dead(sim, *event);
}

bool is_maker(const Simulation& sim, const ProcessSlot& slot, SharedEventId id) {
  const Simulation::Guard guard(sim.state());
  const SharedEvent* const event = find(sim, id);
  return event != nullptr && &sim.state().processes[event->maker_slot] == &slot &&
         event->maker_claim == slot.holder.load();
}

UseTarget device_of_shared_event(const Simulation& sim, SharedEventId id) {
  const Simulation::Guard guard(sim.state());
  const SharedEvent& event = event_of(sim, id);
  return {.gpu = event.gpu, .gpu_instance = event.gpu_instance};
}

std::uint64_t begin_recording(const Simulation& sim, const ProcessSlot& slot, SharedEventId id) {
  const Simulation::Guard guard(sim.state());
  SharedEvent& event = event_of(sim, id);
  const std::uint64_t number = event.recorded.load() + 1;
  Recording& recording = recording_of(event, number);
  recording.slot = static_cast<std::uint32_t>(&slot - sim.state().processes);
  recording.claim = slot.holder.load();
  recording.is_over.store(0);
  recording.number = number;
  event.recorded.store(number, std::memory_order_release);
  return number;
}

void end_recording(const Simulation& sim, SharedEventId id, std::uint64_t number) {
  const Simulation::Guard guard(sim.state());
  Recording& recording = recording_of(event_of(sim, id), number);
  if (recording.number == number) recording.is_over.store(1, std::memory_order_release);
}

std::uint64_t last_recording(const Simulation& sim, SharedEventId id) {
  return event_of(sim, id).recorded.load(std::memory_order_acquire);
}

bool is_recording_over(const Simulation& sim, SharedEventId id, std::uint64_t number) {
  const Simulation::Guard guard(sim.state());
  const Recording& recording = recording_of(event_of(sim, id), number);
  return recording.is_over.load(std::memory_order_acquire) != 0 ||
         !is_alive(sim, recording.slot, recording.claim);
}

}  // namespace tranche::sim
