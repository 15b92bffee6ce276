#include "interpose/queues.h"

#include <sys/mman.h>

#include <cstddef>

namespace tranche::interpose {

static_assert(offsetof(Queue, batch) == 0);

constinit AtWork at_work{};

namespace {

constexpr unsigned kInChunk = 512;
constexpr unsigned kChunks = 128;
constexpr unsigned kPairsInChunk = 1024;
constexpr unsigned kPairChunks = 128;
constexpr unsigned kBuckets = 4096;
// From here on an idle stream's place is reused before a new one is made.
constexpr unsigned kMany = 4096;

// No constructor that runs at load: this library is in programs that never use a GPU, and this
// would cost them memory.
constinit Queue first_chunk[kInChunk]{};
Queue* chunks[kChunks] = {first_chunk};
unsigned used;  // no place at or above this was ever taken
Queue* free_queues;
unsigned hand;  // where the search for an idle stream continues
Queue* buckets[kBuckets];
Pair* free_pairs;
unsigned pair_chunks;

template <class T>
T* pages(unsigned count) {
  void* memory =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

Queue*& bucket_of(std::uintptr_t key) { return buckets[(key * 0x9E3779B97F4A7C15ULL) >> 52U]; }
static_assert(kBuckets == 1U << 12U);

std::uintptr_t key_of(const Queue& queue) {
  return queue.batch.key.load(std::memory_order_relaxed);
}

Queue* new_place() {
  const unsigned chunk = used / kInChunk;
  if (chunk >= kChunks) return nullptr;
  if (chunks[chunk] == nullptr) chunks[chunk] = pages<Queue>(kInChunk);
  return chunks[chunk] == nullptr ? nullptr : &chunks[chunk][used++ % kInChunk];
}

// The place of an idle stream, which gets another one when it has work.
Queue* resting_place() {
  for (unsigned looked = 0; looked < used; ++looked) {
    Queue& queue = *place_number(hand++ % used);
    if (!is_idle(queue) || queue.launching != 0) continue;
    free_queue(queue);
    Queue* taken = free_queues;
    free_queues = taken->next_free;
    return taken;
  }
  return nullptr;
}

Queue* take_place() {
  if (Queue* queue = free_queues; queue != nullptr) {
    free_queues = queue->next_free;
    return queue;
  }
  if (used >= kMany) {
    if (Queue* queue = resting_place(); queue != nullptr) return queue;
  }
  return new_place();
}

// Everything except the batch and the serial number, which continue.
void clear(Queue& queue) {
  queue.batch.left.store(0, std::memory_order_relaxed);
  queue.context = nullptr;
  queue.stream = nullptr;
  queue.twin = queue.is_open = queue.is_gone = false;
  queue.launching = 0;
  queue.begin = nullptr;
  queue.quantum = 0;
  queue.first = queue.opened = queue.late = queue.since = 0;
  queue.oldest = queue.newest = nullptr;
  queue.count = 0;
  queue.next_of_key = queue.next_free = nullptr;
}

void take_from_bucket(Queue& queue) {
  for (Queue** at = &bucket_of(key_of(queue)); *at != nullptr; at = &(*at)->next_of_key) {
    if (*at != &queue) continue;
    *at = queue.next_of_key;
    queue.next_of_key = nullptr;
    return;
  }
}

Pair* take_pair() {
  if (free_pairs == nullptr && pair_chunks < kPairChunks) {
    Pair* chunk = pages<Pair>(kPairsInChunk);
    if (chunk == nullptr) return nullptr;
    ++pair_chunks;
    for (unsigned i = 0; i < kPairsInChunk; ++i) {
      chunk[i].next = free_pairs;
      free_pairs = &chunk[i];
    }
  }
  Pair* pair = free_pairs;
  if (pair != nullptr) free_pairs = pair->next;
  return pair;
}

}  // namespace

Queue* place_number(unsigned number) {
  return number < used ? &chunks[number / kInChunk][number % kInChunk] : nullptr;
}

Queue* find_queue(std::uintptr_t key) {
  Queue* queue = bucket_of(key);
  while (queue != nullptr && key_of(*queue) != key) queue = queue->next_of_key;
  return queue;
}

Queue* take_queue(std::uintptr_t key) {
  Queue* queue = take_place();
  if (queue == nullptr) return nullptr;
  clear(*queue);
  Queue*& bucket = bucket_of(key);
  queue->next_of_key = bucket;
  bucket = queue;
  queue->batch.key.store(key, std::memory_order_relaxed);
  return queue;
}

void forget_key(Queue& queue) {
  take_from_bucket(queue);
  queue.is_gone = true;
}

void free_queue(Queue& queue) {
  if (!queue.is_gone) take_from_bucket(queue);
  queue.is_gone = false;
  queue.launching = 0;
  ++queue.serial;
  queue.batch.left.store(0, std::memory_order_relaxed);
  queue.batch.key.store(0, std::memory_order_relaxed);
  queue.next_free = free_queues;
  free_queues = &queue;
}

void list_at_work(Queue& queue) {
  if (queue.is_listed) return;
  queue.is_listed = true;
  queue.next_at_work = nullptr;
  (at_work.last != nullptr ? at_work.last->next_at_work : at_work.first) = &queue;
  at_work.last = &queue;
  ++at_work.count;
}

bool is_anything_at_work() { return at_work.count != 0; }

bool push_pair(Queue& queue, const Pair& pair) {
  if (queue.count == kPending) return false;
  Pair* place = take_pair();
  if (place == nullptr) return false;
  *place = pair;
  place->next = nullptr;
  (queue.newest != nullptr ? queue.newest->next : queue.oldest) = place;
  queue.newest = place;
  ++queue.count;
  return true;
}

Pair pop_pair(Queue& queue) {
  Pair* pair = queue.oldest;
  const Pair taken = *pair;
  queue.oldest = pair->next;
  if (queue.oldest == nullptr) queue.newest = nullptr;
  --queue.count;
  queue.since = 0;
  pair->next = free_pairs;
  free_pairs = pair;
  return taken;
}

void forget_queues() {
  // Pairs may have been copied while being removed: their memory is left alone.
  free_pairs = nullptr;
  pair_chunks = 0;
  at_work = {};
  free_queues = nullptr;
  for (Queue*& bucket : buckets) bucket = nullptr;
  for (unsigned i = 0; i < used; ++i) {
    Queue& queue = *place_number(i);
    clear(queue);
    queue.is_listed = false;
    queue.next_at_work = nullptr;
    ++queue.serial;
    queue.batch.key.store(0, std::memory_order_relaxed);
  }
  used = 0;
}

}  // namespace tranche::interpose
