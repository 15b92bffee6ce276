#pragma once
// Events shared by processes: each recording has a number, and is over when its process reports
// that, or dies. An event exists until its last holder releases it or dies, whichever process
// created it.
//
// kMaxRecordings of an event are distinguished. An older one counts as over when the one in its
// place is: that many later. Thread-safe. The caller must not hold a Guard.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/uses.h"

namespace tranche::sim {

struct SharedEventId {
  std::uint32_t place = 0;
  std::uint32_t reserved = 0;
  std::uint64_t serial = 0;  // 0: none
};

// Creates one on a device, with one hold by `slot`, the caller's. kUnavailable: there are too many.
Result<SharedEventId> add_shared_event(const Simulation& sim, const ProcessSlot& slot,
                                       const UseTarget& device);
// Adds another hold by `slot`. kNotFound: it has no holder, or never existed, whatever `id` says.
// kUnavailable: too many holders.
Result<void> hold_shared_event(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);
void drop_shared_event(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);

// For holders only.
bool is_maker(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);
// The compute instance of the MIG device it was created on does not matter: kNone.
UseTarget device_of_shared_event(const Simulation& sim, SharedEventId id);
// Starts a recording and returns its number.
std::uint64_t begin_recording(const Simulation& sim, const ProcessSlot& slot, SharedEventId id);
void end_recording(const Simulation& sim, SharedEventId id, std::uint64_t number);
// 0: it was never recorded.
std::uint64_t last_recording(const Simulation& sim, SharedEventId id);
bool is_recording_over(const Simulation& sim, SharedEventId id, std::uint64_t number);

}  // namespace tranche::sim
