// Sparse arrays: without memory of their own; tiles of physical memory are mapped into them, in
// stream order. Mapped memory lives as long as it is mapped, even if its handle was released. No
// content is kept in them: a copy from or to one is refused.

#include "sim/cuda/arrays.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/virtual_memory.h"

namespace tranche::sim::cuda {
namespace {

constexpr unsigned kTileRow = 128;       // elements of four bytes; 64 KiB a tile
constexpr unsigned short kTilePool = 1;  // CU_MEM_CREATE_USAGE_TILE_POOL
constexpr std::uint64_t kTile = std::uint64_t{1} << 16U;

TileKey key_of(const CUarrayMapInfo& info) {
  const auto& level = info.subresource.sparseLevel;
  return {level.layer, level.offsetX, level.offsetY, level.offsetZ};
}

ArrayPtr sparse_array(Call& call, const CUarrayMapInfo& info) {
  ArrayPtr array = call.driver.arrays.find(info.resource.array);
  return array && array->is_sparse() ? array : nullptr;
}

// The memory behind a tile, of the array's device.
std::shared_ptr<Block> block_of(Call& call, const CUarrayMapInfo& info, const Device& device) {
  const PhysicalPtr physical = call.driver.physicals.find(info.memHandle.memHandle);
  const bool good = physical && physical->block &&
                    physical->properties.allocFlags.usage == kTilePool &&
                    &physical->block->device() == &device && info.offset % kTile == 0 &&
                    info.offset < physical->block->size() &&
                    info.deviceBitMask == 1U << static_cast<unsigned>(device.ordinal);
  return good ? physical->block : nullptr;
}

// The change to make when the stream gets there; null: invalid.
std::function<void()> change_of(Call& call, const CUarrayMapInfo& info) {
  const ArrayPtr array = sparse_array(call, info);
  if (!array || info.subresource.sparseLevel.level != 0) return nullptr;
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP) {
    return [array, key = key_of(info)] { array->tiles.erase(key); };
  }
  auto block = block_of(call, info, call.context->device);
  if (!block || info.memOperationType != CU_MEM_OPERATION_TYPE_MAP) return nullptr;
  return [array, key = key_of(info), block] { array->tiles[key] = block; };
}

}  // namespace

CUDA_API CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray handle) {
  return on_context(__func__, given(out), [&](Call& call, Context&) {
    const ArrayPtr array = call.driver.arrays.find(handle);
    if (!array || !array->is_sparse()) return CUDA_ERROR_INVALID_VALUE;
    *out = {};
    out->tileExtent = {kTileRow, kTileRow * 4 / static_cast<unsigned>(array->element_bytes), 1};
    return CUDA_SUCCESS;
  });
}

CUDA_API_TWINS(cuMemMapArrayAsync, cuMemMapArrayAsync_ptsz,
               (CUarrayMapInfo * list, unsigned count, CUstream handle), (list, count, handle)) {
  return on_stream(function, handle, zero, given(list), [&](Call& call, const StreamPtr& stream) {
    if (stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    auto op = std::make_shared<Op>();
    std::vector<std::function<void()>> changes;
    for (unsigned i = 0; i < count; ++i) {
      const CUarrayMapInfo& info = list[i];
      const bool is_here = info.resourceType == CU_RESOURCE_TYPE_ARRAY &&
                           info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL &&
                           info.memHandleType == CU_MEM_HANDLE_TYPE_GENERIC;
      if (!is_here) return CUDA_ERROR_NOT_SUPPORTED;
      changes.push_back(change_of(call, info));
      if (!changes.back()) return CUDA_ERROR_INVALID_VALUE;
    }
    op->settle = [changes = std::move(changes)] {
      for (const auto& change : changes) change();
    };
    call.driver.executor.enqueue(call.lock, stream, op);
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
