#include "interpose/pools.h"

#include "interpose/driver.h"

namespace tranche::interpose {

struct Pool {
  enum class State : std::uint8_t { kFree, kUsed };
  State state;
  void* handle;  // nullptr: of graphs
  int device;
  bool is_counted;
  std::uint64_t charged;
};

namespace {

constexpr unsigned kPools = 256;
constexpr int kUsedCurrent = 7;       // CU_MEMPOOL_ATTR_USED_MEM_CURRENT
constexpr int kGraphUsedCurrent = 0;  // CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT

// One lock for all: what happens under it is the driver's taking from a pool, which has a lock of
// its own.
Lock lock;
Pool pools[kPools];

std::uint64_t attribute(const Pool& pool, int of_pool, int of_graphs) {
  std::uint64_t value = 0;
  const int status = pool.handle != nullptr
                         ? driver.cuMemPoolGetAttribute(pool.handle, of_pool, &value)
                         : driver.cuDeviceGetGraphMemAttribute(pool.device, of_graphs, &value);
  return status == kSuccess ? value : 0;
}
std::uint64_t reserved(const Pool& pool) {
  return attribute(pool, kPoolReservedCurrent, kGraphReservedCurrent);
}
std::uint64_t used(const Pool& pool) { return attribute(pool, kUsedCurrent, kGraphUsedCurrent); }

Pool* find(void* handle, int device) {
  Pool* free = nullptr;
  for (Pool& pool : pools) {
    if (pool.state == Pool::State::kFree) {
      if (free == nullptr) free = &pool;
      continue;
    }
    if (pool.handle == handle && (handle != nullptr || pool.device == device)) return &pool;
  }
  if (free != nullptr) *free = {Pool::State::kUsed, handle, device, true, 0};
  return free;
}

// Gives back what the pool does not have any more.
bool settle_down(Pool& pool) {
  const std::uint64_t now = reserved(pool);
  if (now >= pool.charged) return false;
  give_back(part_of_device(pool.device), pool.charged - now);
  pool.charged = now;
  return true;
}

// The ledger's own attempt: take() would come back here.
bool charge(Pool& pool, std::uint64_t bytes) {
  const Part& part = part_of_device(pool.device);
  if (bytes == 0 || part.rule == Part::Rule::kNone) return true;
  if (part.rule == Part::Rule::kUnknown) return false;
  if (!part.ledger().charge(part.device, bytes)) return false;
  pool.charged += bytes;
  return true;
}

bool settle_all() {
  bool is_more = false;
  for (Pool& pool : pools) {
    if (pool.state == Pool::State::kUsed && pool.is_counted) is_more |= settle_down(pool);
  }
  return is_more;
}

}  // namespace

bool settle_pools() {
  const Guard guard(lock);
  return settle_all();
}

void add_pool(void* handle, int location_type, int device) {
  const Guard guard(lock);
  if (Pool* pool = find(handle, device)) {
    *pool = {Pool::State::kUsed, handle, device, location_type == kLocationDevice, 0};
  }
}

void remove_pool(void* handle) {
  const Guard guard(lock);
  for (Pool& pool : pools) {
    if (pool.state != Pool::State::kUsed || pool.handle != handle) continue;
    if (pool.charged != 0) give_back(part_of_device(pool.device), pool.charged);
    pool = {};
  }
}

void* default_pool(int device) {
  void* pool = nullptr;
  return driver.cuDeviceGetMemPool(static_cast<void*>(&pool), device) == kSuccess ? pool : nullptr;
}

PoolCharge::PoolCharge(void* handle, int device, std::uint64_t bytes) {
  lock.lock();
  pool_ = find(handle, device);
  if (pool_ == nullptr || !pool_->is_counted) return;
  settle_down(*pool_);
  const std::uint64_t in_use = used(*pool_);
  const std::uint64_t there = reserved(*pool_);
  const std::uint64_t growth = in_use + bytes > there ? in_use + bytes - there : 0;
  is_granted_ = charge(*pool_, growth) || (settle_all() && charge(*pool_, growth));
}

PoolCharge::~PoolCharge() {
  if (pool_ != nullptr && pool_->is_counted) settle_down(*pool_);
  lock.unlock();
}

bool PoolCharge::settle() {
  if (pool_ == nullptr || !pool_->is_counted) return true;
  const std::uint64_t now = reserved(*pool_);
  if (now > pool_->charged) return charge(*pool_, now - pool_->charged);
  settle_down(*pool_);
  return true;
}

void forget_pools() {
  lock.reset();
  for (Pool& pool : pools) pool = {};
}

}  // namespace tranche::interpose
