#pragma once
// The streams that this process works in: for each the batch that is open and those that have not
// ended. Used under the gate's lock (gate.cpp), but for what `passes` (gate.h) reads of a batch.
//
// There is a place for every stream that is likely to be: work without one would not be measured.
// Places never move and are never given back, for threads remember the one that they used last.
// Memory comes from mmap: malloc is the program's, and may be what called us.

#include <cstdint>

#include "interpose/batch.h"
#include "interpose/contexts.h"

namespace tranche::interpose {

// A batch that was closed and has not ended.
struct Pair {
  Pair* next;
  Event begin;
  Event end;
  std::uint64_t asked;
  std::uint32_t launches;
  bool is_loose;  // its end was recorded when the stream had run dry
  const void* what;
  std::uint64_t late;  // when a thread that was held up came back from the driver; 0: none was
};

struct Queue {
  Batch batch;  // first: see queue_of
  ContextState* context;
  Stream stream;
  bool twin;
  bool is_open;
  bool is_gone;             // the stream is; the place is free once nothing is pending
  bool is_listed;           // among those at work
  std::uint32_t launching;  // threads between the gate and the driver
  std::uint64_t serial;     // of the open batch, among all
  Event begin;              // of the open batch
  std::int64_t quantum;
  std::uint64_t first;  // asked for when it was opened
  std::uint64_t opened;
  std::uint64_t late;   // as in a pair
  std::uint64_t since;  // when the oldest work that has not ended began; 0: not known to have
  Pair* oldest;         // of those that have not ended
  Pair* newest;
  unsigned count;
  Queue* next_of_key;  // in the table by key
  Queue* next_free;
  Queue* next_at_work;
};

inline Queue& queue_of(Batch& batch) { return reinterpret_cast<Queue&>(batch); }

inline constexpr unsigned kPending = 64;  // batches of one stream that have not ended

inline bool is_idle(const Queue& queue) { return !queue.is_open && queue.count == 0; }

// By its stream's key; nullptr: it has no place.
Queue* find_queue(std::uintptr_t key);
// A place for a stream that has none: a new one, or that of a stream with nothing under way.
// nullptr: all are at work, or there is no memory. Everything in it is zero but the key.
Queue* take_queue(std::uintptr_t key);
// The stream is no more: another one may get its key.
void forget_key(Queue& queue);
// Nothing is under way in it.
void free_queue(Queue& queue);

// It has an open batch, or some that have not ended.
void list_at_work(Queue& queue);
bool is_anything_at_work();
// Calls `look(queue)` for those at work, oldest first, each once. Those that are idle afterwards
// leave the list; of the others the first `most` go to its end, so that all have their turn.
template <class Look>
void each_at_work(unsigned most, Look look);
// Calls `look(queue)` for every place that has a stream.
template <class Look>
void each_queue(Look look);

// Adds a pair to those that have not ended. false: it has kPending, or there is no memory.
bool push_pair(Queue& queue, const Pair& pair);
// Takes the oldest out.
Pair pop_pair(Queue& queue);

// In a forked child.
void forget_queues();

// ---- what the templates need

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
