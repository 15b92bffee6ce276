#pragma once
// Memory freed in stream order: it is held, and charged, until its stream gets there. An event
// after the free shows when that is. A thread that finds no room checks them (settle_frees), and so
// does the helper's thread while there are any.
//
// Memory of pools is charged by what its pool has reserved, so pieces of a pool are only kept here
// if the pool may be destroyed before the stream gets to them.

#include <cstdint>

#include "interpose/held.h"
#include "interpose/lock.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

struct PendingFree {
  Held held{};           // what is charged for it
  void* pool = nullptr;  // its piece: charged with the pool, as long as the pool exists
  std::uint64_t piece_bytes = 0;
};

// The driver accepted the free; `twin`: stream 0 means the thread's own. false: cannot determine
// when the stream gets there (the context is broken, or out of memory).
bool free_when_reached(const PendingFree& free, Stream stream, bool twin);
// Releases the charges of frees that streams have reached.
void settle_frees();
bool has_pending_frees();

// The pool is destroyed. Its pending pieces are charged separately from now on, at most `charged`
// together; returns the total.
std::uint64_t take_frees_of_pool(const void* pool, const Part& part, std::uint64_t charged);

// The context has ended, with its events and memory.
void end_frees_of(Context context);
// Held around calls that may end contexts: no event is queried meanwhile.
class FreesPaused {
 public:
  FreesPaused();

 private:
  UncancelledGuard guard_;
};

void forget_frees();

}  // namespace tranche::interpose
