#include "interpose/memory.h"

#include "interpose/contexts.h"
#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/failures.h"
#include "interpose/pending_frees.h"
#include "interpose/pools.h"
#include "interpose/released.h"

using namespace tranche::interpose;

namespace tranche::interpose {

namespace wire = limit::wire;

namespace {

Blocks<Held> allocations;

// A physical allocation lives while a handle or a mapping refers to it.
struct Physical {
  Held held;
  std::uint32_t handles;
  std::uint32_t mappings;
  bool is_held_elsewhere;  // or may be
};
struct Mapping {
  std::uint64_t handle;
  std::uint64_t bytes;
};
Blocks<Physical> physicals;
Blocks<Mapping> mappings;

// Drops the record once nothing refers to it.
void release(std::uint64_t handle) {
  Physical gone;
  const bool is_unused =
      physicals.with(handle, [](Physical& p) { return p.handles == 0 && p.mappings == 0; });
  if (!is_unused || !physicals.take(handle, gone)) return;
  (gone.is_held_elsewhere ? give_back_once_reported : give_back)(gone.held.part(),
                                                                 gone.held.bytes());
}

// The part that is charged for memory created by another process, or released earlier by this one;
// nullptr: host memory, or no tenant's.
const Part* part_of_import(std::uint64_t handle) {
  struct {
    AllocationProperties known;
    std::uint64_t others[8];  // the driver writes more of them
  } properties{};
  if (!has_tenants() ||
      driver.cuMemGetAllocationPropertiesFromHandle(&properties, handle) != kSuccess)
    return nullptr;
  const int device = device_of(properties.known.location);
  if (device < 0) return nullptr;
  const Part& part = part_of_device(device);
  const bool is_limited =
      part.rule == Part::Rule::kTenant &&
      part.policy().memory_limit.load(std::memory_order_relaxed) != wire::kNoLimit;
  // If NVML is never read, nothing would end it.
  return is_limited && part.policy().readings.load(std::memory_order_relaxed) != 0 ? &part
                                                                                   : nullptr;
}

// Imported memory is mapped. It belongs to its creator or, if that released it, to this process
// from now on, as NVML will report. Until then it is charged, marked as released (released.h): a
// process that finds no room waits for NVML, and the true value decides.
int map_import(CUdeviceptr address, size_t bytes, std::uint64_t handle, const Part& part,
               int status) {
  if (status != kSuccess) {
    give_back(part, bytes);
    return status;
  }
  // From here on it is known, and mapping it again charges nothing.
  if (physicals.put(handle, {{part, 0, nullptr}, 1, 1, false})) {
    mappings.put(address, {handle, bytes});
  }
  give_back_once_reported(part, bytes);
  return status;
}

template <class Address, class Call, class Free>
int allocate_linear(Address* address, std::uint64_t bytes, Call call, Free free) {
  if (address == nullptr || bytes == 0) return call();
  return allocate(
      allocations, part_to_charge(), bytes, call, [&] { return std::uint64_t{*address}; },
      [&] { free(*address); });
}

// Rows are padded; the driver reports by how much afterwards.
template <class Address, class Size, class Call, class Free>
int allocate_pitched(Address* address, Size* pitch, std::uint64_t width, std::uint64_t height,
                     Call call, Free free) {
  constexpr std::uint64_t kPadding = 512;
  if (address == nullptr || pitch == nullptr || width == 0 || height == 0) return call();
  const Part* part = part_to_charge();
  std::uint64_t expected = 0;
  const std::uint64_t row = wire::add(width, kPadding - 1) / kPadding * kPadding;
  if (__builtin_mul_overflow(row, height, &expected)) expected = wire::kNoLimit;
  const int status = allocate_linear(address, expected, call, free);
  if (status != kSuccess || part == nullptr || part->rule != Part::Rule::kTenant) return status;
  const std::uint64_t bytes = std::uint64_t{*pitch} * height;
  if (bytes > expected && !take(*part, bytes - expected)) {
    deallocate(allocations, *address, [&] { return free(*address); });
    return kOutOfMemory;
  }
  if (bytes < expected) give_back(*part, expected - bytes);
  allocations.with(*address, [&](Held& held) {
    held.set_bytes(bytes);
    return true;
  });
  return status;
}

// The device whose pools an allocation in the stream comes from; false: there is no context.
bool device_of_stream(void* stream, int& device) {
  if (driver.cuCtxGetDevice(&device) != kSuccess) return false;
  const bool is_default = reinterpret_cast<std::uintptr_t>(stream) <= kPerThreadStream;
  Context context = nullptr;
  if (is_default || device_count() == 1 ||
      driver.cuStreamGetCtx(stream, static_cast<void*>(&context)) != kSuccess ||
      context == known_context())
    return true;
  const ScopedContext scope(context);
  return driver.cuCtxGetDevice(&device) == kSuccess;
}

bool is_capturing(void* stream, bool twin) {
  int capturing = 0;
  (twin ? driver.cuStreamIsCapturing_ptsz : driver.cuStreamIsCapturing)(stream, &capturing);
  return capturing != 0;
}

template <class Call>
int from_pool(CUdeviceptr* address, std::uint64_t bytes, void* pool, void* stream, bool twin,
              Call call) {
  int device = 0;
  if (address == nullptr || bytes == 0 || !has_tenants()) return call();
  if (!device_of_stream(stream, device)) return call();
  if (pool != nullptr) device = device_of_pool(pool, device);
  if (device < 0) return call();  // the host's memory
  const Part* part = part_to_charge(device);
  if (part->rule == Part::Rule::kNone) return call();
  // While a stream captures, a graph is made and nothing is allocated: its launch will be charged.
  if (is_capturing(stream, twin)) return call();
  if (pool == nullptr) pool = current_pool(device);
  PoolCharge charge(pool, device, bytes, take);
  if (!charge.is_granted()) return kOutOfMemory;
  const int status = call();
  if (status != kSuccess) return note_answer(*part, bytes, status);
  if (charge.settle()) {
    charge.keep(*address, bytes);
    return status;
  }
  (twin ? driver.cuMemFreeAsync_ptsz : driver.cuMemFreeAsync)(*address, stream);
  driver.cuMemPoolTrimTo(pool, 0);  // otherwise the pool keeps what was refused
  return kOutOfMemory;
}

int told_pool(void* pool, const void* location, unsigned type, int status) {
  if (status != kSuccess || !has_tenants()) return status;
  note_pool(*static_cast<void**>(pool),
            {static_cast<int>(type), 0, *static_cast<const Location*>(location)});
  return status;
}

// What a destroyed pool leaves behind is an allocation like any other, which no context's end
// frees.
bool keep_piece(std::uint64_t address, const Part& part, std::uint64_t bytes) {
  return allocations.put(address, {part, bytes, nullptr});
}

// Stays charged under its address until that is given out again, or its context ends.
void keep_charged(std::uint64_t address, const Held& held) {
  const bool is_anew = allocations.with(address, [](const Held&) { return true; });
  if (is_anew || !allocations.put(address, held)) give_back(held.part(), held.bytes());
}

// The memory exists until the stream reaches the free; while a stream captures nothing is freed at
// all.
template <class Call>
int free_in_stream(std::uint64_t address, void* stream, bool twin, Call call) {
  Piece piece{};
  Held held;
  const bool is_piece = take_piece(address, piece);
  const bool is_known = allocations.take(address, held);
  if (!is_piece && !is_known) return call();
  const bool is_captured = is_capturing(stream, twin);
  const int status = call();
  if (status != kSuccess || is_captured) {
    if (is_piece) put_piece(address, piece);
    if (is_known) allocations.put(address, held);
    return status;
  }
  const PendingFree free{
      .held = held, .pool = is_piece ? piece.pool : nullptr, .piece_bytes = piece.bytes};
  if (!free_when_reached(free, stream, twin) && is_known) keep_charged(address, held);
  return status;
}

template <class Call>
int free_linear(std::uint64_t address, Call call) {
  Piece piece;
  const bool is_piece = take_piece(address, piece);
  const int status = deallocate(allocations, address, call);
  if (is_piece && status != kSuccess) put_piece(address, piece);
  return status;
}

}  // namespace

bool take(const Part& part, std::uint64_t bytes) {
  if (part.rule == Part::Rule::kNone) return true;
  if (part.rule == Part::Rule::kUnknown) return false;
  auto ledger = part.ledger();
  if (ledger.charge(part.device, bytes)) return true;
  // Frees reached by streams and returns of pools since the last check. Only the present room
  // counts: another thread may have settled them since the charge.
  settle_frees();
  settle_pools();
  if (ledger.has_room(part.device, bytes) && ledger.charge(part.device, bytes)) return true;
  if (wait_for_released(part, bytes) && ledger.charge(part.device, bytes)) return true;
  note_refused(part, bytes);
  return false;
}

const Part* part_to_charge(int device) {
  const Part* part = &part_of_device(device);
  if (part->rule == Part::Rule::kUnknown) {
    join(Wait::kForArbiter);
    part = &part_of_device(device);
  }
  return part;
}

const Part* part_to_charge() {
  const Part* part = current_part();
  if (part != nullptr && part->rule == Part::Rule::kUnknown) {
    join(Wait::kForArbiter);
    part = current_part();
  }
  return part;
}

void note_held_elsewhere(std::uint64_t handle) {
  physicals.with(handle, [](Physical& p) { return p.is_held_elsewhere = true; });
}

void end_memory_of(Context context) {
  end_of(allocations, context);
  end_frees_of(context);
}

void forget_memory() {
  allocations.reset();
  physicals.reset();
  mappings.reset();
  forget_frees();
  forget_released();
}

}  // namespace tranche::interpose

int cuMemAlloc(void* address, unsigned bytes) {
  return allocate_linear(
      static_cast<unsigned*>(address), bytes, [&] { return driver.cuMemAlloc(address, bytes); },
      driver.cuMemFree);
}

int cuMemAlloc_v2(void* address, size_t bytes) {
  return allocate_linear(
      static_cast<CUdeviceptr*>(address), bytes,
      [&] { return driver.cuMemAlloc_v2(address, bytes); }, driver.cuMemFree_v2);
}

int cuMemAllocManaged(void* address, size_t bytes, unsigned flags) {
  return allocate_linear(
      static_cast<CUdeviceptr*>(address), bytes,
      [&] { return driver.cuMemAllocManaged(address, bytes, flags); }, driver.cuMemFree_v2);
}

int cuMemAllocPitch(void* address, void* pitch, unsigned width, unsigned height, unsigned element) {
  return allocate_pitched(
      static_cast<unsigned*>(address), static_cast<unsigned*>(pitch), width, height,
      [&] { return driver.cuMemAllocPitch(address, pitch, width, height, element); },
      driver.cuMemFree);
}

int cuMemAllocPitch_v2(void* address, void* pitch, size_t width, size_t height, unsigned element) {
  return allocate_pitched(
      static_cast<CUdeviceptr*>(address), static_cast<size_t*>(pitch), width, height,
      [&] { return driver.cuMemAllocPitch_v2(address, pitch, width, height, element); },
      driver.cuMemFree_v2);
}

int cuMemAllocAsync(void* address, size_t bytes, void* stream) {
  return from_pool(static_cast<CUdeviceptr*>(address), bytes, nullptr, stream, false,
                   [&] { return driver.cuMemAllocAsync(address, bytes, stream); });
}

int cuMemAllocAsync_ptsz(void* address, size_t bytes, void* stream) {
  return from_pool(static_cast<CUdeviceptr*>(address), bytes, nullptr, stream, true,
                   [&] { return driver.cuMemAllocAsync_ptsz(address, bytes, stream); });
}

int cuMemAllocFromPoolAsync(void* address, size_t bytes, void* pool, void* stream) {
  return from_pool(static_cast<CUdeviceptr*>(address), bytes, pool, stream, false,
                   [&] { return driver.cuMemAllocFromPoolAsync(address, bytes, pool, stream); });
}

int cuMemAllocFromPoolAsync_ptsz(void* address, size_t bytes, void* pool, void* stream) {
  return from_pool(static_cast<CUdeviceptr*>(address), bytes, pool, stream, true, [&] {
    return driver.cuMemAllocFromPoolAsync_ptsz(address, bytes, pool, stream);
  });
}

int cuMemFree(unsigned address) {
  return free_linear(address, [&] { return driver.cuMemFree(address); });
}

int cuMemFree_v2(CUdeviceptr address) {
  return free_linear(address, [&] { return driver.cuMemFree_v2(address); });
}

int cuMemFreeAsync(CUdeviceptr address, void* stream) {
  return free_in_stream(address, stream, false,
                        [&] { return driver.cuMemFreeAsync(address, stream); });
}

int cuMemFreeAsync_ptsz(CUdeviceptr address, void* stream) {
  return free_in_stream(address, stream, true,
                        [&] { return driver.cuMemFreeAsync_ptsz(address, stream); });
}

// ---- pools

int cuMemPoolCreate(void* pool, void* properties) {
  const int status = driver.cuMemPoolCreate(pool, properties);
  if (status == kSuccess && has_tenants()) {
    add_pool(*static_cast<void**>(pool), *static_cast<const PoolProperties*>(properties));
  }
  return status;
}

int cuMemGetDefaultMemPool(void* pool, void* location, unsigned type) {
  return told_pool(pool, location, type, driver.cuMemGetDefaultMemPool(pool, location, type));
}

int cuMemGetMemPool(void* pool, void* location, unsigned type) {
  return told_pool(pool, location, type, driver.cuMemGetMemPool(pool, location, type));
}

int cuMemPoolDestroy(void* pool) { return destroy_pool(pool, driver.cuMemPoolDestroy, keep_piece); }

int cuMemPoolTrimTo(void* pool, size_t keep) {
  const int status = driver.cuMemPoolTrimTo(pool, keep);
  settle_pools();
  return status;
}

int cuDeviceGraphMemTrim(int device) {
  const int status = driver.cuDeviceGraphMemTrim(device);
  settle_pools();
  return status;
}

// ---- physical memory and mappings

int cuMemCreate(void* handle, size_t bytes, void* properties, std::uint64_t flags) {
  const auto call = [&] { return driver.cuMemCreate(handle, bytes, properties, flags); };
  const auto* wanted = static_cast<const AllocationProperties*>(properties);
  if (handle == nullptr || wanted == nullptr || device_of(wanted->location) < 0) return call();
  if (!has_tenants()) return call();
  const Part* part = part_to_charge(device_of(wanted->location));
  if (part->rule == Part::Rule::kNone) return call();
  if (!take(*part, bytes)) return kOutOfMemory;
  const int status = call();
  const auto key = static_cast<std::uint64_t*>(handle);
  if (status == kSuccess && physicals.put(*key, {{*part, bytes, nullptr}, 1, 0, false}))
    return status;
  if (status == kSuccess) driver.cuMemRelease(*key);
  give_back(*part, bytes);
  return status == kSuccess ? kOutOfMemory : note_answer(*part, bytes, status);
}

int cuMemRelease(std::uint64_t handle) {
  // Decremented first: another allocation may get the handle as soon as the driver has it back.
  const bool is_known = physicals.with(handle, [](Physical& p) {
    if (p.handles == 0) return false;
    --p.handles;
    return true;
  });
  const int status = driver.cuMemRelease(handle);
  if (!is_known) return status;
  if (status != kSuccess) {
    physicals.with(handle, [](Physical& p) { return ++p.handles != 0; });
  } else {
    release(handle);
  }
  return status;
}

int cuMemRetainAllocationHandle(void* handle, void* address) {
  const int status = driver.cuMemRetainAllocationHandle(handle, address);
  if (status == kSuccess) {
    physicals.with(*static_cast<std::uint64_t*>(handle),
                   [](Physical& p) { return ++p.handles != 0; });
  }
  return status;
}

int cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, std::uint64_t handle,
             std::uint64_t flags) {
  const bool is_known = physicals.with(handle, [](Physical& p) { return ++p.mappings != 0; });
  const Part* import = is_known ? nullptr : part_of_import(handle);
  if (import != nullptr) import->ledger().charge_anyway(import->device, bytes);
  const int status = driver.cuMemMap(address, bytes, offset, handle, flags);
  if (import != nullptr) return map_import(address, bytes, handle, *import, status);
  if (!is_known) return status;
  if (status == kSuccess) {
    mappings.put(address, {handle, bytes});
  } else {
    physicals.with(handle, [](Physical& p) { return p.mappings-- != 0; });
  }
  return status;
}

int cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const int status = driver.cuMemUnmap(address, bytes);
  if (status != kSuccess) return status;
  // One call may unmap several adjacent mappings.
  for (CUdeviceptr at = address; at < address + bytes;) {
    Mapping mapping;
    if (!mappings.take(at, mapping) || mapping.bytes == 0) break;
    physicals.with(mapping.handle, [](Physical& p) { return p.mappings-- != 0; });
    release(mapping.handle);
    at += mapping.bytes;
  }
  return status;
}
