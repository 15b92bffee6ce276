#pragma once
// The device memory that this process holds outside of pools (pools.h): allocations, and mapped
// physical memory. Arrays (arrays.h) are handled in the same way.

#include "interpose/blocks.h"
#include "interpose/cuda.h"
#include "interpose/failures.h"
#include "interpose/gate.h"
#include "interpose/held.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

// Charges `bytes` of the part; false: there is no room. give_back() (tenants.h) reverses it.
bool take(const Part& part, std::uint64_t bytes);

// Charges `bytes` to `part`, makes the driver allocate (`call`, a CUresult; it stores the key in
// `key`), and records it under that key; or CUDA_ERROR_OUT_OF_MEMORY. `undo` frees the driver's
// memory if there is no memory for the record.
template <class Call, class Key, class Undo>
int allocate(Blocks<Held>& blocks, const Part* part, std::uint64_t bytes, Call call, Key key,
             Undo undo) {
  if (part == nullptr || part->rule == Part::Rule::kNone) return call();
  if (!take(*part, bytes)) return kOutOfMemory;
  const int status = call();
  if (status != kSuccess) {
    give_back(*part, bytes);
    return note_answer(*part, bytes, status);
  }
  // A record at this place was freed unseen: the driver has reused the place.
  Held gone;
  const bool is_kept = blocks.put(key(), {*part, bytes, known_context()}, &gone);
  if (gone.is_any()) give_back(gone.part(), gone.bytes());
  if (is_kept) return status;
  undo();
  give_back(*part, bytes);
  return kOutOfMemory;
}

// The record is removed first: once the driver has the memory back, another thread may get it.
template <class Call>
int deallocate(Blocks<Held>& blocks, std::uint64_t key, Call call) {
  Held held;
  const bool is_known = blocks.take(key, held);
  const int status = call();
  if (!is_known) return status;
  if (status == kSuccess) {
    give_back(held.part(), held.bytes());
  } else {
    blocks.put(key, held);
  }
  return status;
}

// The current context's device, registered with the arbiter if not done yet.
const Part* part_to_charge();
const Part* part_to_charge(int device);

inline void end_of(Blocks<Held>& blocks, Context context) {
  blocks.take_all([&](const Held& held) { return held.context() == context; },
                  [](std::uint64_t, const Held& held) { give_back(held.part(), held.bytes()); });
}

// Physical memory whose holder is not seen here: it may outlive its handles and mappings
// (released.h).
void note_held_elsewhere(std::uint64_t handle);

// The context has ended, and its memory with it: releases their charges.
void end_memory_of(Context context);

// In a forked child: discards all state.
void forget_memory();

}  // namespace tranche::interpose
