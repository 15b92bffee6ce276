#pragma once
// The streams that this process works in: for each, the open batch and those that have not ended.
// Used under the gate's lock (gate.cpp), except for what `passes` (gate.h) reads of a batch.
//
// There is a place for every stream that is likely to exist: work without one would not be
// measured. Places never move and are never freed, because threads remember the one that they used
// last. Memory comes from mmap: malloc belongs to the program, and may be our caller.

#include <cstdint>

#include "interpose/batch.h"
#include "interpose/contexts.h"

namespace tranche::interpose {

// A closed batch that has not ended.
struct Pair {
  Pair* next;
  Event begin;
  Event end;
  std::uint64_t asked;
  std::uint32_t launches;
  bool is_loose;  // its end was recorded after the stream had run dry
  const void* what;
  std::uint64_t late;  // when a delayed thread came back from the driver; 0: no delay
};

struct Queue {
  Batch batch;  // first: see queue_of
  ContextState* context;
  Stream stream;
  bool twin;
  bool is_open;
  bool is_gone;    // the stream no longer exists; the place is free once nothing is pending
  bool is_listed;  // in the list of active ones
  std::uint32_t launching;  // threads between the gate and the driver
  std::uint64_t serial;     // of the open batch, over all streams
  Event begin;              // of the open batch
  std::int64_t quantum;
  std::uint64_t first;  // asked for when it was opened
  std::uint64_t opened;
  std::uint64_t late;   // see Pair
  std::uint64_t since;  // when the oldest unfinished work began; 0: not known to have begun
  Pair* oldest;         // of those that have not ended
  Pair* newest;
  unsigned count;
  Queue* next_of_key;  // in the table by key
  Queue* next_free;
  Queue* next_at_work;
};

inline Queue& queue_of(Batch& batch) { return reinterpret_cast<Queue&>(batch); }

inline constexpr unsigned kPending = 64;  // unfinished batches of one stream

inline bool is_idle(const Queue& queue) { return !queue.is_open && queue.count == 0; }

// By its stream's key; nullptr: it has no place.
Queue* find_queue(std::uintptr_t key);
// A place for a new stream: a new one, or that of an idle stream. nullptr: all are active, or out
// of memory. Everything in it except the key is zero.
Queue* take_queue(std::uintptr_t key);
// The stream no longer exists: another one may get its key.
void forget_key(Queue& queue);
// It has no work in progress.
void free_queue(Queue& queue);

// It has an open or unfinished batch.
void list_at_work(Queue& queue);
bool is_anything_at_work();
// Calls `look(queue)` for the active ones, oldest first, each once. Those that are idle afterwards
// leave the list; of the others the first `most` go to its end, so that all get their turn.
template <class Look>
void each_at_work(unsigned most, Look look);
// Calls `look(queue)` for every place with a stream.
template <class Look>
void each_queue(Look look);

// Adds a pair to the unfinished ones. false: it has kPending, or out of memory.
bool push_pair(Queue& queue, const Pair& pair);
// Removes the oldest.
Pair pop_pair(Queue& queue);

// In a forked child.
void forget_queues();

// ---- details for the templates

struct AtWork {
  Queue* first;
  Queue* last;
  unsigned count;
};
extern AtWork at_work;
Queue* place_number(unsigned number);  // nullptr: no place at or above this was ever taken

template <class Look>
void each_at_work(unsigned most, Look look) {
  for (unsigned left = at_work.count < most ? at_work.count : most; left != 0; --left) {
    Queue* queue = at_work.first;
    at_work.first = queue->next_at_work;
    if (at_work.first == nullptr) at_work.last = nullptr;
    --at_work.count;
    queue->is_listed = false;
    queue->next_at_work = nullptr;
    look(*queue);
    if (!is_idle(*queue)) list_at_work(*queue);
  }
}

template <class Look>
void each_queue(Look look) {
  Queue* queue = nullptr;
  for (unsigned i = 0; (queue = place_number(i)) != nullptr; ++i) {
    if (queue->batch.key.load(std::memory_order_relaxed) != 0) look(*queue);
  }
}

}  // namespace tranche::interpose
