#pragma once
// What this process holds of device memory, beyond pools (pools.h): allocations, and physical
// memory that is mapped. Arrays (arrays.h) are kept in the same way.

#include "interpose/blocks.h"
#include "interpose/cuda.h"
#include "interpose/gate.h"
#include "interpose/held.h"
#include "interpose/tenants.h"

namespace tranche::interpose {

// Takes `bytes` of the part; false: there is no room. give_back() (tenants.h) is its opposite.
bool take(const Part& part, std::uint64_t bytes);

// Charges `bytes` to `part`, has the driver allocate (`call`, a CUresult; it leaves the key in
// `key`), and keeps the record under that key; or CUDA_ERROR_OUT_OF_MEMORY. `undo` gives the
// driver's memory back where there is no memory for the record.
template <class Call, class Key, class Undo>
int allocate(Blocks<Held>& blocks, const Part* part, std::uint64_t bytes, Call call, Key key,
             Undo undo) {
  if (part == nullptr || part->rule == Part::Rule::kNone) return call();
  if (!take(*part, bytes)) return kOutOfMemory;
  const int status = call();
  if (status != kSuccess) {
    give_back(*part, bytes);
    return status;
  }
  // Whatever was known there has gone by a way that was not seen: the driver gave the place anew.
  Held gone;
  const bool is_kept = blocks.put(key(), {*part, bytes, known_context()}, &gone);
  if (gone.is_any()) give_back(gone.part(), gone.bytes());
  if (is_kept) return status;
  undo();
  give_back(*part, bytes);
  return kOutOfMemory;
}

// The record goes first: once the driver has the memory back, another thread may get it.
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

// The current context's device, registered with the arbiter where that is still to be done.
const Part* part_to_charge();
const Part* part_to_charge(int device);

inline void end_of(Blocks<Held>& blocks, Context context) {
  blocks.take_all([&](const Held& held) { return held.context() == context; },
                  [](std::uint64_t, const Held& held) { give_back(held.part(), held.bytes()); });
}

// Physical memory that something holds which is not seen here: it may outlive its handles and
// mappings (let_go.h).
void note_held_elsewhere(std::uint64_t handle);

// The context has ended, and its memory with it: what was charged for it is given back.
void end_memory_of(Context context);

// In a forked child: nothing of it is there.
void forget_memory();

}  // namespace tranche::interpose
