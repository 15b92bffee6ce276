#include "interpose/pools.h"

#include <sys/mman.h>

#include "interpose/blocks.h"
#include "interpose/cuda.h"
#include "interpose/driver.h"
#include "interpose/lock.h"
#include "interpose/pending_frees.h"
#include "interpose/uncancelled.h"

namespace tranche::interpose {

struct Pool {
  enum class State : std::uint8_t { kFree, kUsed };
  State state;
  void* handle;  // nullptr: the graphs' pool
  int device;
  bool is_counted;
  bool is_own;  // the program created it, and may destroy it
  std::uint64_t charged;
};

namespace {

constexpr int kUsedCurrent = 7;       // CU_MEMPOOL_ATTR_USED_MEM_CURRENT
constexpr int kGraphUsedCurrent = 0;  // CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT

// One lock for all: under it the only driver calls are allocations from a pool, which has its own
// lock.
Lock lock;
// As many as the program creates; a chunk that was added stays.
struct Chunk {
  Pool pools[64];
  Chunk* next;
};
Chunk pools;

Blocks<Piece> pieces;

// Until `stop(Pool&)` is true; returns the position.
template <class Stop>
Pool* any_place(Stop stop) {
  for (Chunk* chunk = &pools; chunk != nullptr; chunk = chunk->next) {
    for (Pool& pool : chunk->pools) {
      if (stop(pool)) return &pool;
    }
  }
  return nullptr;
}

Pool* grow() {
  void* memory =
      mmap(nullptr, sizeof(Chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* chunk = static_cast<Chunk*>(memory);
  chunk->next = pools.next;
  pools.next = chunk;
  return &chunk->pools[0];
}

// `otherwise`: if the driver does not report it.
std::uint64_t attribute(const Pool& pool, int of_pool, int of_graphs, std::uint64_t otherwise) {
  std::uint64_t value = 0;
  const int status = pool.handle != nullptr
                         ? driver.cuMemPoolGetAttribute(pool.handle, of_pool, &value)
                         : driver.cuDeviceGetGraphMemAttribute(pool.device, of_graphs, &value);
  return status == kSuccess ? value : otherwise;
}
// Values that are not reported are assumed unchanged, and entirely in use.
std::uint64_t reserved(const Pool& pool) {
  return attribute(pool, kPoolReservedCurrent, kGraphReservedCurrent, pool.charged);
}
std::uint64_t used(const Pool& pool) {
  return attribute(pool, kUsedCurrent, kGraphUsedCurrent, pool.charged);
}

Pool* known(void* handle, int device) {
  return any_place([&](const Pool& pool) {
    return pool.state == Pool::State::kUsed && pool.handle == handle &&
           (handle != nullptr || pool.device == device);
  });
}

// nullptr: there is no memory to remember it.
Pool* find(void* handle, int device) {
  if (Pool* pool = known(handle, device)) return pool;
  Pool* free = any_place([](const Pool& pool) { return pool.state == Pool::State::kFree; });
  if (free == nullptr) free = grow();
  if (free != nullptr) *free = {Pool::State::kUsed, handle, device, true, false, 0};
  return free;
}

// Releases the charge for what the pool no longer has.
void settle_down(Pool& pool) {
  const std::uint64_t now = reserved(pool);
  if (now >= pool.charged) return;
  give_back(part_of_device(pool.device), pool.charged - now);
  pool.charged = now;
}

// Does not wait: the lock is held.
bool charge(Pool& pool, std::uint64_t bytes) {
  const Part& part = part_of_device(pool.device);
  if (bytes == 0 || part.rule == Part::Rule::kNone) return true;
  if (part.rule == Part::Rule::kUnknown) return false;
  if (!part.ledger().try_charge(part.device, bytes)) return false;
  pool.charged += bytes;
  return true;
}

// -1: the host's.
int device_of(const PoolProperties& properties) {
  int device = interpose::device_of(properties.location);
  const bool is_managed = properties.type == kAllocationManaged;
  if (device < 0 && is_managed) driver.cuCtxGetDevice(&device);
  return device;
}

// How much the pool will grow when `bytes` are taken from it.
std::uint64_t growth_of(const Pool& pool, std::uint64_t bytes) {
  const std::uint64_t needed = limit::wire::add(used(pool), bytes);
  const std::uint64_t there = reserved(pool);
  return needed > there ? needed - there : 0;
}

void settle_all() {
  any_place([&](Pool& pool) {
    if (pool.state == Pool::State::kUsed && pool.is_counted) settle_down(pool);
    return false;
  });
}

}  // namespace

std::atomic<bool> has_pieces;

void settle_pools() {
  const UncancelledGuard guard(lock);
  settle_all();
}

void add_pool(void* handle, const PoolProperties& properties) {
  const int device = device_of(properties);
  const UncancelledGuard guard(lock);
  if (Pool* pool = find(handle, device)) {
    *pool = {Pool::State::kUsed, handle, device, device >= 0, true, 0};
  }
}

void note_pool(void* handle, const PoolProperties& properties) {
  const int device = device_of(properties);
  const UncancelledGuard guard(lock);
  if (known(handle, device) != nullptr) return;
  if (Pool* pool = find(handle, device)) pool->is_counted = device >= 0;
}

int destroy_pool(void* handle, int (*call)(void*), KeepPiece keep) {
  const UncancelledGuard guard(lock);
  Pool* pool = handle != nullptr ? known(handle, 0) : nullptr;
  const int status = call(handle);
  if (status != kSuccess || pool == nullptr) return status;
  const Part& part = part_of_device(pool->device);
  std::uint64_t left = pool->charged;
  left -= take_frees_of_pool(handle, part, left);
  pieces.take_all([&](const Piece& piece) { return piece.pool == handle; },
                  [&](std::uint64_t address, const Piece& piece) {
                    const std::uint64_t bytes = piece.bytes < left ? piece.bytes : left;
                    if (bytes != 0 && keep(address, part, bytes)) left -= bytes;
                  });
  if (left != 0) give_back(part, left);
  *pool = {};
  return status;
}

void* current_pool(int device) {
  void* pool = nullptr;
  return driver.cuDeviceGetMemPool(static_cast<void*>(&pool), device) == kSuccess ? pool : nullptr;
}

int device_of_pool(void* handle, int otherwise) {
  {
    const UncancelledGuard guard(lock);
    if (const Pool* pool = known(handle, 0)) return pool->device;
  }
  for (int device = 0; device < device_count(); ++device) {
    void* pool = nullptr;
    if (driver.cuDeviceGetDefaultMemPool(static_cast<void*>(&pool), device) == kSuccess &&
        pool == handle)
      return device;
  }
  return otherwise;
}

bool take_known_piece(std::uint64_t address, Piece& piece) { return pieces.take(address, piece); }
void put_piece(std::uint64_t address, const Piece& piece) { pieces.put(address, piece); }

PoolCharge::PoolCharge(void* handle, int device, std::uint64_t bytes, Take take) : take_(take) {
  lock.lock();
  pool_ = find(handle, device);
  is_granted_ = pool_ != nullptr;
  if (pool_ == nullptr || !pool_->is_counted) return;
  settle_down(*pool_);
  const std::uint64_t growth = growth_of(*pool_, bytes);
  is_granted_ = charge(*pool_, growth);
  if (is_granted_) return;
  is_granted_ = wait_for_room(growth);
  if (!is_granted_ || !pool_->is_counted) return;
  // Others may have taken from the pool meanwhile.
  const std::uint64_t now = growth_of(*pool_, bytes);
  is_granted_ = now <= growth || charge(*pool_, now - growth);
}

// Without the lock, and in the program's own state: a signal handler may leave the wait by
// siglongjmp, and then none of our code restores it.
bool PoolCharge::wait_for_room(std::uint64_t growth) {
  void* const handle = pool_->handle;
  const int device = pool_->device;
  const Part& part = part_of_device(device);
  lock.unlock();
  uncancelled_.pause();
  const bool is_taken = take_(part, growth);
  uncancelled_.go_on();
  lock.lock();
  // The pool may have been destroyed meanwhile.
  pool_ = known(handle, device);
  const bool is_kept = is_taken && pool_ != nullptr && pool_->is_counted;
  if (is_kept) pool_->charged += growth;
  if (is_taken && !is_kept) give_back(part, growth);
  return is_taken && pool_ != nullptr;
}

PoolCharge::~PoolCharge() {
  if (pool_ != nullptr && pool_->is_counted) settle_down(*pool_);
  lock.unlock();
}

bool PoolCharge::settle() {
  if (pool_ == nullptr || !pool_->is_counted) return true;
  const std::uint64_t now = reserved(*pool_);
  if (now <= pool_->charged) {
    settle_down(*pool_);
    return true;
  }
  const std::uint64_t growth = now - pool_->charged;
  if (charge(*pool_, growth) || wait_for_room(growth)) return true;
  if (pool_ == nullptr) return false;
  // Held until it is undone, perhaps only when a stream reaches that point.
  const Part& part = part_of_device(pool_->device);
  if (part.rule != Part::Rule::kTenant) return false;
  part.ledger().charge_anyway(part.device, growth);
  pool_->charged += growth;
  return false;
}

void PoolCharge::keep(std::uint64_t address, std::uint64_t bytes) {
  if (pool_ == nullptr || !pool_->is_own || !pool_->is_counted) return;
  has_pieces.store(true, std::memory_order_relaxed);
  pieces.put(address, {pool_->handle, bytes});
}

void forget_pools() {
  lock.reset();
  any_place([](Pool& pool) {
    pool = {};
    return false;
  });
  pieces.reset();
  has_pieces.store(false, std::memory_order_relaxed);
}

}  // namespace tranche::interpose
