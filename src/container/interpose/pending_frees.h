#pragma once
// Memory that was freed in stream order: it is held until its stream gets there, and charged as
// long. An event behind the free says when that is. Who finds no room looks (settle_frees), and so
// does the helper's thread while there are any.
//
// Memory of pools is charged by what its pool has reserved, so of a pool's pieces only those are
// kept here whose pool may be destroyed before the stream gets to them.

#include <cstdint>

#include "interpose/held.h"
#include "interpose/lock.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

struct PendingFree {
  Held held{};           // what is charged for it
  void* pool = nullptr;  // its piece: charged with the pool, as long as that is there
  std::uint64_t piece_bytes = 0;
};

// The driver took the free; `twin`: stream 0 is the thread's own. false: when the stream gets there
// cannot be told (the context is broken, or no memory).
bool free_when_reached(const PendingFree& free, Stream stream, bool twin);
// Gives back what streams have got to.
void settle_frees();
bool has_pending_frees();

// The pool is destroyed. What of its pieces is pending is charged by itself from now on, at most
// `charged` together; what that comes to.
std::uint64_t take_frees_of_pool(const void* pool, const Part& part, std::uint64_t charged);

// The context has ended: its events with it, and its memory.
void end_frees_of(Context context);
// Around what may end contexts: no event is asked for meanwhile.
class FreesPaused {
 public:
  FreesPaused();

 private:
  UncancelledGuard guard_;
};

void forget_frees();

}  // namespace tranche::interpose
