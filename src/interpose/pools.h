#pragma once
// Memory pools, and the memory of graphs, which is one more pool of each device: what counts is
// what a pool has reserved, whether or not a program uses it, for nobody else can have it.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

// Looks at every pool of the process and gives back what it has let go of. true: there was
// something.
bool settle_pools();

// A pool that the program made; `location` not a device: it is not counted.
void add_pool(void* pool, int location_type, int device);
void remove_pool(void* pool);

// The calling thread's current device's pool. nullptr: it cannot be told.
void* default_pool(int device);

// Before and after something takes `bytes` from a pool.
class PoolCharge {
 public:
  // `pool` nullptr: the graphs' memory of `device`.
  PoolCharge(void* pool, int device, std::uint64_t bytes);
  PoolCharge(const PoolCharge&) = delete;
  PoolCharge& operator=(const PoolCharge&) = delete;
  ~PoolCharge();

  bool is_granted() const { return is_granted_; }
  // What the pool has reserved now is charged. false: more than expected, and there is no room: to
  // be undone.
  bool settle();

 private:
  struct Pool* pool_ = nullptr;
  bool is_granted_ = true;
};

void forget_pools();

}  // namespace tranche::interpose
