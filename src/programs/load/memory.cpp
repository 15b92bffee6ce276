#include "load/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace tranche::load {
namespace {

constexpr Bytes kChunk = Bytes::from_mib(64);
constexpr Bytes kSmallest = Bytes::from_mib(2);  // the driver's own granularity
constexpr std::size_t kRow = 64UL << 10U;        // bytes in a row of pitched memory and of arrays
constexpr std::size_t kTexel = 4;
constexpr Bytes kLargestArray = Bytes::from_mib(1024);  // CUDA limits the rows of an array

// The size of the next piece; `left` is still wanted.
Bytes piece_of(const Load& load, Bytes left) {
  if (load.chunk.value > 0) return std::min(load.chunk, left);
  return load.family == Family::kArray ? std::min(kLargestArray, left) : left;
}

std::size_t rows_of(Bytes size) { return std::max<std::size_t>(1, size.value / kRow); }

}  // namespace

Memory::~Memory() {
  for (const Block& block : blocks_ | std::views::reverse) block.free();
}

Result<Memory::Block> Memory::allocate(Family family, Bytes size) {
  const CudaApi& cuda = gpu_.cuda();
  CUdeviceptr pointer = 0;
  switch (family) {
    case Family::kPitch:
      return allocate_pitched(size);
    case Family::kVmm:
      return allocate_mapped(size);
    case Family::kArray:
      return allocate_array(size);
    case Family::kAlloc:
      TRY_CUDA(cuda, cuMemAlloc(&pointer, size.value));
      break;
    case Family::kManaged:
      return allocate_managed(size);
    case Family::kAsync: {
      const CUstream stream = gpu_.stream();
      TRY_CUDA(cuda, cuMemAllocAsync(&pointer, size.value, stream));
      TRY_CUDA(cuda, cuStreamSynchronize(stream));
      break;
    }
  }
  std::function<void()> free = [&cuda, pointer] { cuda.cuMemFree(pointer); };
  if (family == Family::kAsync) {
    free = [&cuda, pointer, stream = gpu_.stream()] { cuda.cuMemFreeAsync(pointer, stream); };
  }
  return Block{std::move(free), size};
}

Result<Memory::Block> Memory::allocate_pitched(Bytes size) {
  const CudaApi& cuda = gpu_.cuda();
  CUdeviceptr pointer = 0;
  std::size_t pitch = 0;
  const std::size_t rows = rows_of(size);
  TRY_CUDA(cuda, cuMemAllocPitch(&pointer, &pitch, kRow, rows, kTexel));
  return Block{[&cuda, pointer] { cuda.cuMemFree(pointer); }, Bytes{pitch * rows}};
}

// Managed memory takes no room until it is touched. So it is prefetched to the device, or written
// where the device has no prefetch.
Result<Memory::Block> Memory::allocate_managed(Bytes size) {
  const CudaApi& cuda = gpu_.cuda();
  CUdeviceptr pointer = 0;
  TRY_CUDA(cuda, cuMemAllocManaged(&pointer, size.value, CU_MEM_ATTACH_GLOBAL));
  Block block{[&cuda, pointer] { cuda.cuMemFree(pointer); }, size};
  CUresult code = cuda.cuMemPrefetchAsync(pointer, size.value, gpu_.device(), gpu_.stream());
  if (code == CUDA_SUCCESS) {
    code = cuda.cuStreamSynchronize(gpu_.stream());
  } else {
    code = cuda.cuMemsetD8(pointer, 1, size.value);
  }
  if (code == CUDA_SUCCESS) return block;
  block.free();
  return std::unexpected(cuda_error(cuda, code, "bringing managed memory to the device"));
}

Result<Memory::Block> Memory::allocate_mapped(Bytes size) {
  const CudaApi& cuda = gpu_.cuda();
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, gpu_.device()};
  const CUmemAllocationProp wanted{.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here};
  std::size_t page = 0;
  TRY_CUDA(cuda, cuMemGetAllocationGranularity(&page, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const std::size_t bytes = (size.value + page - 1) / page * page;
  CUmemGenericAllocationHandle handle = 0;
  TRY_CUDA(cuda, cuMemCreate(&handle, bytes, &wanted, 0));
  CUdeviceptr place = 0;
  CUresult code = cuda.cuMemAddressReserve(&place, bytes, 0, 0, 0);
  const bool has_place = code == CUDA_SUCCESS;
  if (has_place) code = cuda.cuMemMap(place, bytes, 0, handle, 0);
  const bool is_mapped = code == CUDA_SUCCESS;
  const CUmemAccessDesc access{here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (is_mapped) code = cuda.cuMemSetAccess(place, bytes, &access, 1);
  Block block{[&cuda, place, bytes, handle, has_place, is_mapped] {
                if (is_mapped) cuda.cuMemUnmap(place, bytes);
                if (has_place) cuda.cuMemAddressFree(place, bytes);
                cuda.cuMemRelease(handle);
              },
              Bytes{bytes}};
  if (code == CUDA_SUCCESS) return block;
  block.free();
  return std::unexpected(cuda_error(cuda, code, "mapping what cuMemCreate gave"));
}

Result<Memory::Block> Memory::allocate_array(Bytes size) {
  const CudaApi& cuda = gpu_.cuda();
  const std::size_t rows = rows_of(size);
  const CUDA_ARRAY_DESCRIPTOR wanted{.Width = kRow / kTexel,
                                     .Height = rows,
                                     .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                     .NumChannels = 1};
  CUarray array = nullptr;
  TRY_CUDA(cuda, cuArrayCreate(&array, &wanted));
  return Block{[&cuda, array] { cuda.cuArrayDestroy(array); }, Bytes{kRow * rows}};
}

Result<void> Memory::take(const Load& load) {
  if (load.all_memory) return take_all(load.family, load.chunk.value > 0 ? load.chunk : kChunk);
  Bytes left = load.memory;
  while (left.value > 0) {
    const Bytes size = piece_of(load, left);
    auto block = allocate(load.family, size);
    if (!block) {
      return std::unexpected(std::move(block).error().with_context(
          fmt::format("{} MiB asked, {} MiB held", size.mib(), held_.mib())));
    }
    held_.value += block->size.value;
    left.value -= std::min(left.value, block->size.value);
    blocks_.push_back(*std::move(block));
  }
  return {};
}

Result<void> Memory::take_all(Family family, Bytes chunk) {
  while (chunk >= kSmallest) {
    auto block = allocate(family, chunk);
    if (block) {
      held_.value += block->size.value;
      blocks_.push_back(*std::move(block));
      continue;
    }
    if (block.error().code != Code::kUnavailable) return std::unexpected(std::move(block).error());
    refused_ = block.error().what;
    chunk.value /= 2;
  }
  return {};
}

Result<void> Memory::borrow(Bytes size) {
  ASSIGN_OR_RETURN(const Block block, allocate(Family::kAlloc, size));
  block.free();
  return {};
}

}  // namespace tranche::load
