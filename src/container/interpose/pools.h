#pragma once
// Memory pools, and the memory of graphs, which is one more pool of each device. A pool is charged
// with what it has reserved, used or not: nobody else can have that memory.

#include <atomic>
#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

// Looks at every pool of the process and gives back what it has let go of.
void settle_pools();

// A pool that the program made. One of the host's memory is not counted; one of managed memory is,
// as all managed memory, for the device that it prefers or else the current one.
void add_pool(void* pool, const PoolProperties& properties);
// The driver's own pool of that kind of memory, as the program was told it (CUDA 13).
void note_pool(void* pool, const PoolProperties& properties);
// Has the driver destroy it (`call`). What was allocated from it lives on until it is freed, and is
// charged as long: each such piece goes to `keep`, which records it. `keep` answers false when
// there is no memory for the record; then the piece is not charged any more.
using KeepPiece = bool (*)(std::uint64_t address, const Part& part, std::uint64_t bytes);
int destroy_pool(void* pool, int (*call)(void*), KeepPiece keep);

// The pool that allocations of the device come from. nullptr: it cannot be told.
void* current_pool(int device);
// Whose memory the pool is, -1: the host's; `otherwise` where nobody knows.
int device_of_pool(void* pool, int otherwise);

// An allocation from a pool that the program made.
struct Piece {
  void* pool;
  std::uint64_t bytes;
};
extern std::atomic<bool> has_pieces;  // there ever was one
bool take_known_piece(std::uint64_t address, Piece& piece);
// The record, while it is being freed, and back where the driver refuses.
inline bool take_piece(std::uint64_t address, Piece& piece) {
  return has_pieces.load(std::memory_order_relaxed) && take_known_piece(address, piece);
}
void put_piece(std::uint64_t address, const Piece& piece);

// Before and after something takes `bytes` from a pool.
class PoolCharge {
 public:
  using Take = bool (*)(const Part& part, std::uint64_t bytes);
  // `pool` nullptr: the graphs' memory of `device`. `take` waits for room (memory.h).
  PoolCharge(void* pool, int device, std::uint64_t bytes, Take take);
  PoolCharge(const PoolCharge&) = delete;
  PoolCharge& operator=(const PoolCharge&) = delete;
  ~PoolCharge();

  bool is_granted() const { return is_granted_; }
  // What the pool has reserved now is charged. false: more than expected, and there was no room: to
  // be undone.
  bool settle();
  // `bytes` were allocated there.
  void keep(std::uint64_t address, std::uint64_t bytes);

 private:
  // Takes `growth` of the pool's part. Other threads may take from the pool meanwhile, or destroy
  // it.
  bool wait_for_room(std::uint64_t growth);

  Uncancelled uncancelled_;  // as long as the lock is held
  Take take_;
  struct Pool* pool_ = nullptr;
  bool is_granted_ = true;
};

void forget_pools();

}  // namespace tranche::interpose
