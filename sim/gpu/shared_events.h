#pragma once
// Events that processes share: each recording has a number, and is over when the process that made
// it says so, or dies. An event is there until its last holder lets it go or dies, whoever made it.
//
// kMaxRecordings of an event are told apart. One that is older than these is over when the one in
// its place is: that many later. Thread-safe. No Guard is held.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/uses.h"

namespace tranche::sim {

struct SharedEventId {
  std::uint32_t place = 0;
  std::uint32_t reserved = 0;
  std::uint64_t serial = 0;  // 0: none
};

// A new one of a device, which `slot`, the caller's, holds once. kUnavailable: there are too many.
Result<SharedEventId> add_shared_event(const Simulation& sim, const ProcessSlot& slot,
                                       const UseTarget& device);
// Another hold of it by `slot`. kNotFound: nobody holds it, or it never was, whatever `id` says.
// kUnavailable: too many do.
Result<void> hold_shared_event(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);
void drop_shared_event(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);

// For who holds it.
bool is_maker(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);
// Which compute instance of a MIG device it was made on does not matter: kNone.
UseTarget device_of_shared_event(const Simulation& sim, SharedEventId id);
// The number of the recording that begins now.
std::uint64_t begin_recording(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);
void end_recording(const Simulation& sim, SharedEventId id, std::uint64_t number);
// 0: it was never recorded.
std::uint64_t last_recording(const Simulation& sim, SharedEventId id);
bool is_recording_over(const Simulation& sim, SharedEventId id, std::uint64_t number);

}  // namespace tranche::sim
