#pragma once
// Memory pools, and the memory of graphs, which is another pool of each device. A pool is charged
// for what it has reserved, used or not: no one else can use that memory.

#include <atomic>
#include <cstdint>

#include "interpose/cuda.h"
#include "interpose/tenants.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

// Checks every pool of the process and releases charges for what the pool has freed.
void settle_pools();

// A pool that the program created. Pools of host memory are not counted. Pools of managed memory
// are, like all managed memory, counted for their preferred device, or else the current one.
void add_pool(void* pool, const PoolProperties& properties);
// The driver's own pool for that kind of memory, as returned to the program (CUDA 13).
void note_pool(void* pool, const PoolProperties& properties);
// Makes the driver destroy it (`call`). Its allocations live on until they are freed, and stay
// charged as long: each such piece is passed to `keep`, which records it. `keep` returns false if
// there is no memory for the record; then the piece is no longer charged.
using KeepPiece = bool (*)(std::uint64_t address, const Part& part, std::uint64_t bytes);
int destroy_pool(void* pool, int (*call)(void*), KeepPiece keep);

// The pool that allocations of the device come from. nullptr: unknown.
void* current_pool(int device);
// The device of the pool's memory; -1: the host; `otherwise` if unknown.
int device_of_pool(void* pool, int otherwise);

// An allocation from a pool that the program created.
struct Piece {
  void* pool;
  std::uint64_t bytes;
};
extern std::atomic<bool> has_pieces;  // there ever was one
bool take_known_piece(std::uint64_t address, Piece& piece);
// Removes the record during a free; it is put back if the driver refuses.
inline bool take_piece(std::uint64_t address, Piece& piece) {
  return has_pieces.load(std::memory_order_relaxed) && take_known_piece(address, piece);
}
void put_piece(std::uint64_t address, const Piece& piece);

// Used before and after `bytes` are taken from a pool.
class PoolCharge {
 public:
  using Take = bool (*)(const Part& part, std::uint64_t bytes);
  // `pool` nullptr: the graphs' memory of `device`. `take` waits for room (memory.h).
  PoolCharge(void* pool, int device, std::uint64_t bytes, Take take);
  PoolCharge(const PoolCharge&) = delete;
  PoolCharge& operator=(const PoolCharge&) = delete;
  ~PoolCharge();

  bool is_granted() const { return is_granted_; }
  // Charges what the pool has reserved now. false: it is more than expected, and there was no room:
  // the allocation must be undone.
  bool settle();
  // `bytes` were allocated there.
  void keep(std::uint64_t address, std::uint64_t bytes);

 private:
  // Charges `growth` to the pool's part. Other threads may allocate from the pool meanwhile, or
  // destroy it.
  bool wait_for_room(std::uint64_t growth);

  Uncancelled uncancelled_;  // held as long as the lock
  Take take_;
  struct Pool* pool_ = nullptr;
  bool is_granted_ = true;
};

void forget_pools();

}  // namespace tranche::interpose
