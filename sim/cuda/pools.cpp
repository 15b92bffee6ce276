#include "sim/cuda/pools.h"

#include <algorithm>

#include "sim/cuda/graph.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

void account(Pool& pool) {
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.held());
}

// What was freed in `stream` itself (or, `by_others`, in any) and is large enough.
std::list<Pool::Pending>::iterator find_pending(Pool& pool, const Stream& stream, std::size_t size,
                                                bool by_others) {
  return std::ranges::find_if(pool.pending, [&](const Pool::Pending& pending) {
    return (by_others || pending.stream == stream.id) && pending.piece.size >= size &&
           pending.piece.size / 2 <= std::max<std::size_t>(size, kPage);
  });
}

std::optional<Piece> take_fresh(Call& call, Pool& pool, std::size_t size) {
  const bool fits = pool.most_bytes == 0 ||
                    pool.heap.held() + round_up(size, kPage) <= pool.most_bytes ||
                    pool.used + size <= pool.heap.held();
  if (!fits) return std::nullopt;
  if (auto piece = pool.heap.take(size)) return piece;
  release_all_unused(call.driver);
  return pool.heap.take(size);
}

// The free was reached: returns what is still pending.
void finish_free(Driver& driver, const PoolPtr& pool, std::uint64_t range) {
  const auto pending = std::ranges::find(pool->pending, range, &Pool::Pending::range);
  if (pending == pool->pending.end()) return;
  pool->heap.give(pending->piece);
  pool->used -= pending->piece.size;
  driver.space->erase(pending->address);
  pool->pending.erase(pending);
}

// The host's memory: of the simulated GPU it takes nothing.
CUresult allocate_on_host(Call& call, const PoolPtr& pool, std::size_t size, CUdeviceptr& out) {
  const bool fits =
      pool->most_bytes == 0 || (size <= pool->most_bytes && pool->used <= pool->most_bytes - size);
  auto memory = fits ? map_host(size) : nullptr;
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  out = reinterpret_cast<std::uintptr_t>(memory.get());  // NOLINT: an address
  pool->used += size;
  account(*pool);
  call.driver.space->add({.base = out,
                          .size = size,
                          .kind = RangeKind::kPooled,
                          .device = &pool->device,
                          .piece = {.address = out, .size = size},
                          .host = static_cast<std::byte*>(memory.get()),
                          .owned = std::move(memory),
                          .pool = pool});
  return CUDA_SUCCESS;
}

}  // namespace

PoolPtr default_pool(Driver& driver, Device& device) {
  if (!device.pool) {
    device.pool = driver.pools.add(std::make_shared<Pool>(device, *driver.space));
    device.pool->is_default = true;
  }
  return device.pool;
}

PoolPtr default_host_pool(Driver& driver, const CUmemLocation& location) {
  // One for the host as a whole, one for each of its NUMA nodes.
  const int node = location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ? location.id : -1;
  PoolPtr& pool = driver.host_pools[node];
  if (!pool) {
    pool = driver.pools.add(std::make_shared<Pool>(*driver.devices.front(), *driver.space));
    pool->is_host = true;
    pool->is_default = true;
  }
  return pool;
}

CUresult allocate_from(Call& call, const PoolPtr& pool, const StreamPtr& stream, std::size_t size,
                       CUdeviceptr& out) {
  if (pool->is_host) return allocate_on_host(call, pool, size, out);
  std::optional<Piece> piece;
  OpPtr after;
  const auto reuse = [&](std::list<Pool::Pending>::iterator pending) {
    piece = pending->piece;
    pool->used -= pending->piece.size;
    call.driver.space->erase(pending->address);
    pool->pending.erase(pending);
  };
  call.driver.executor.pump(call.lock);
  if (const auto own = find_pending(*pool, *stream, size, false); own != pool->pending.end()) {
    reuse(own);
  } else {
    piece = take_fresh(call, *pool, size);
  }
  if (!piece && pool->reuses_with_dependencies) {
    const auto other = find_pending(*pool, *stream, size, true);
    if (other != pool->pending.end()) {
      after = other->op;
      reuse(other);
    }
  }
  if (!piece) return CUDA_ERROR_OUT_OF_MEMORY;
  if (after) {
    auto wait = std::make_shared<Op>();
    wait->after.push_back(after);
    call.driver.executor.enqueue(call.lock, stream, wait);
  }
  pool->used += piece->size;
  account(*pool);
  out = piece->address;
  call.driver.space->add({.base = piece->address,
                          .size = size,
                          .kind = RangeKind::kPooled,
                          .device = &pool->device,
                          .piece = *std::move(piece),
                          .pool = pool});
  return CUDA_SUCCESS;
}

CUresult free_in_order(Call& call, const StreamPtr& stream, CUdeviceptr address) {
  Range* const range = call.driver.space->find(address);
  if (range == nullptr || range->base != address || range->is_freed) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool can = range->kind == RangeKind::kPooled || range->kind == RangeKind::kAllocated ||
                   range->kind == RangeKind::kGraph;
  if (!can) return CUDA_ERROR_INVALID_VALUE;
  range->is_freed = true;
  auto op = std::make_shared<Op>();
  Driver& driver = call.driver;
  if (range->pool) {
    const PoolPtr pool = range->pool;
    pool->pending.push_back({.stream = stream->id,
                             .range = range->id,
                             .address = address,
                             .piece = range->piece,
                             .op = op});
    op->settle = [&driver, pool, id = range->id] { finish_free(driver, pool, id); };
  } else {
    op->settle = [&driver, id = range->id, address] {
      Range* const freed = driver.space->find(address);
      if (freed == nullptr || freed->id != id) return;
      if (freed->graph_memory) freed->graph_memory->is_live = false;
      if (const auto owner = freed->context.lock()) owner->heap.give(freed->piece);
      driver.space->erase(address);
    };
  }
  driver.executor.enqueue(call.lock, stream, op);
  return CUDA_SUCCESS;
}

void give_to_pool(Range& range) {
  if (range.graph_memory) range.graph_memory->is_live = false;
  if (!range.pool) return;
  range.pool->heap.give(range.piece);
  range.pool->used -= range.piece.size;
}

void release_unused(Driver& driver) {
  for (const auto& [number, pool] : driver.pools) pool->heap.trim(pool->release_threshold);
}

void release_all_unused(Driver& driver) {
  for (const auto& [number, pool] : driver.pools) pool->heap.trim(0);
}

}  // namespace tranche::sim::cuda
