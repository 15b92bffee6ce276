// cuDeviceGetAttribute and the older structure of the same content.

#include <limits>
#include <optional>

#include "sim/cuda/library.h"

namespace tranche::sim::cuda {
namespace {

constexpr int kMostInt = std::numeric_limits<int>::max();

// Attributes by their number in cuda.h. tests/sim/test_cuda_abi.py compares numbers and names.
#define DEVICE_ATTRIBUTES(A)                                                                \
  A(MAX_THREADS_PER_BLOCK, 1, kThreadsPerBlock)                                             \
  A(MAX_BLOCK_DIM_X, 2, 1024)                                                               \
  A(MAX_BLOCK_DIM_Y, 3, 1024)                                                               \
  A(MAX_BLOCK_DIM_Z, 4, 64)                                                                 \
  A(MAX_GRID_DIM_X, 5, kMostInt)                                                            \
  A(MAX_GRID_DIM_Y, 6, 65535)                                                               \
  A(MAX_GRID_DIM_Z, 7, 65535)                                                               \
  A(MAX_SHARED_MEMORY_PER_BLOCK, 8, kSharedPerBlock)                                        \
  A(TOTAL_CONSTANT_MEMORY, 9, kConstantBytes)                                               \
  A(WARP_SIZE, 10, kWarp)                                                                   \
  A(MAX_PITCH, 11, kMostInt)                                                                \
  A(MAX_REGISTERS_PER_BLOCK, 12, kRegistersPerSm)                                           \
  A(CLOCK_RATE, 13, static_cast<int>(d.model->clock_sm_mhz * 1000))                         \
  A(TEXTURE_ALIGNMENT, 14, 512)                                                             \
  A(GPU_OVERLAP, 15, 1)                                                                     \
  A(MULTIPROCESSOR_COUNT, 16, static_cast<int>(d.sm_count))                                 \
  A(KERNEL_EXEC_TIMEOUT, 17, 0)                                                             \
  A(INTEGRATED, 18, 0)                                                                      \
  A(CAN_MAP_HOST_MEMORY, 19, 1)                                                             \
  A(COMPUTE_MODE, 20, static_cast<int>(d.gpu->compute_mode.load()))                         \
  A(MAXIMUM_TEXTURE1D_WIDTH, 21, 131072)                                                    \
  A(MAXIMUM_TEXTURE2D_WIDTH, 22, 131072)                                                    \
  A(MAXIMUM_TEXTURE2D_HEIGHT, 23, 65536)                                                    \
  A(MAXIMUM_TEXTURE3D_WIDTH, 24, 16384)                                                     \
  A(MAXIMUM_TEXTURE3D_HEIGHT, 25, 16384)                                                    \
  A(MAXIMUM_TEXTURE3D_DEPTH, 26, 16384)                                                     \
  A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 27, 32768)                                             \
  A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 28, 32768)                                            \
  A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 29, 2048)                                             \
  A(SURFACE_ALIGNMENT, 30, 512)                                                             \
  A(CONCURRENT_KERNELS, 31, 1)                                                              \
  A(ECC_ENABLED, 32, static_cast<int>(d.model->ecc))                                        \
  A(PCI_BUS_ID, 33, static_cast<int>(d.gpu->pci.bus))                                       \
  A(PCI_DEVICE_ID, 34, static_cast<int>(d.gpu->pci.device))                                 \
  A(TCC_DRIVER, 35, 0)                                                                      \
  A(MEMORY_CLOCK_RATE, 36, static_cast<int>(d.model->clock_memory_mhz * 1000))              \
  A(GLOBAL_MEMORY_BUS_WIDTH, 37, d.limits.bus_bits)                                         \
  A(L2_CACHE_SIZE, 38, d.limits.l2_bytes)                                                   \
  A(MAX_THREADS_PER_MULTIPROCESSOR, 39, d.limits.threads_per_sm)                            \
  A(ASYNC_ENGINE_COUNT, 40, 3)                                                              \
  A(UNIFIED_ADDRESSING, 41, 1)                                                              \
  A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 42, 32768)                                             \
  A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 43, 2048)                                             \
  A(PCI_DOMAIN_ID, 50, static_cast<int>(d.gpu->pci.domain))                                 \
  A(TEXTURE_PITCH_ALIGNMENT, 51, 32)                                                        \
  A(MAXIMUM_TEXTURECUBEMAP_WIDTH, 52, 32768)                                                \
  A(MAXIMUM_SURFACE1D_WIDTH, 55, 32768)                                                     \
  A(MAXIMUM_SURFACE2D_WIDTH, 56, 131072)                                                    \
  A(MAXIMUM_SURFACE2D_HEIGHT, 57, 65536)                                                    \
  A(MAXIMUM_SURFACE3D_WIDTH, 58, 16384)                                                     \
  A(MAXIMUM_SURFACE3D_HEIGHT, 59, 16384)                                                    \
  A(MAXIMUM_SURFACE3D_DEPTH, 60, 16384)                                                     \
  A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 69, 268435456)                                          \
  A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 70, 131072)                                             \
  A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 71, 65000)                                             \
  A(MAXIMUM_TEXTURE2D_LINEAR_PITCH, 72, 2097120)                                            \
  A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 73, 32768)                                           \
  A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 74, 32768)                                          \
  A(COMPUTE_CAPABILITY_MAJOR, 75, static_cast<int>(d.model->cc_major))                      \
  A(COMPUTE_CAPABILITY_MINOR, 76, static_cast<int>(d.model->cc_minor))                      \
  A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 77, 32768)                                           \
  A(STREAM_PRIORITIES_SUPPORTED, 78, 1)                                                     \
  A(GLOBAL_L1_CACHE_SUPPORTED, 79, 1)                                                       \
  A(LOCAL_L1_CACHE_SUPPORTED, 80, 1)                                                        \
  A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81, d.limits.shared_per_sm)                       \
  A(MAX_REGISTERS_PER_MULTIPROCESSOR, 82, kRegistersPerSm)                                  \
  A(MANAGED_MEMORY, 83, 1)                                                                  \
  A(MULTI_GPU_BOARD, 84, 0)                                                                 \
  A(MULTI_GPU_BOARD_GROUP_ID, 85, d.ordinal)                                                \
  A(HOST_NATIVE_ATOMIC_SUPPORTED, 86, 0)                                                    \
  A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 87, d.limits.slow_doubles)                       \
  A(PAGEABLE_MEMORY_ACCESS, 88, 0)                                                          \
  A(CONCURRENT_MANAGED_ACCESS, 89, 1)                                                       \
  A(COMPUTE_PREEMPTION_SUPPORTED, 90, 1)                                                    \
  A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91, 1)                                         \
  A(COOPERATIVE_LAUNCH, 95, 1)                                                              \
  A(COOPERATIVE_MULTI_DEVICE_LAUNCH, 96, 0)                                                 \
  A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97, d.limits.shared_per_block)                       \
  A(CAN_FLUSH_REMOTE_WRITES, 98, 1)                                                         \
  A(HOST_REGISTER_SUPPORTED, 99, 1)                                                         \
  A(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100, 0)                                   \
  A(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 101, 0)                                            \
  A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102, 1)                                            \
  A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103, 1)                                    \
  A(HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 104, 0)                                             \
  A(HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 105, 0)                                         \
  A(MAX_BLOCKS_PER_MULTIPROCESSOR, 106, d.limits.blocks_per_sm)                             \
  A(GENERIC_COMPRESSION_SUPPORTED, 107, 0)                                                  \
  A(MAX_PERSISTING_L2_CACHE_SIZE, 108, 0)                                                   \
  A(MAX_ACCESS_POLICY_WINDOW_SIZE, 109, 0)                                                  \
  A(GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 110, 0)                                        \
  A(RESERVED_SHARED_MEMORY_PER_BLOCK, 111, d.limits.capability >= 80 ? kReservedShared : 0) \
  A(SPARSE_CUDA_ARRAY_SUPPORTED, 112, 1)                                                    \
  A(READ_ONLY_HOST_REGISTER_SUPPORTED, 113, 1)                                              \
  A(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, 114, 0)                                           \
  A(MEMORY_POOLS_SUPPORTED, 115, 1)                                                         \
  A(GPU_DIRECT_RDMA_SUPPORTED, 116, 0)                                                      \
  A(GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 117, 0)                                           \
  A(GPU_DIRECT_RDMA_WRITES_ORDERING, 118, 0)                                                \
  A(MEMPOOL_SUPPORTED_HANDLE_TYPES, 119, 0)                                                 \
  A(CLUSTER_LAUNCH, 120, d.limits.capability >= 90 ? 1 : 0)                                 \
  A(DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 121, 0)                                          \
  A(CAN_USE_64_BIT_STREAM_MEM_OPS, 122, 1)                                                  \
  A(CAN_USE_STREAM_WAIT_VALUE_NOR, 123, 1)                                                  \
  A(DMA_BUF_SUPPORTED, 124, 0)                                                              \
  A(IPC_EVENT_SUPPORTED, 125, 1)                                                            \
  A(MEM_SYNC_DOMAIN_COUNT, 126, d.limits.capability >= 90 ? 4 : 1)                          \
  A(TENSOR_MAP_ACCESS_SUPPORTED, 127, 0)                                                    \
  A(HANDLE_TYPE_FABRIC_SUPPORTED, 128, 0)                                                   \
  A(UNIFIED_FUNCTION_POINTERS, 129, 0)                                                      \
  A(NUMA_CONFIG, 130, 0)                                                                    \
  A(NUMA_ID, 131, -1)                                                                       \
  A(MULTICAST_SUPPORTED, 132, d.multicasts() ? 1 : 0)                                       \
  A(MPS_ENABLED, 133, d.owner.mps.is_client() ? 1 : 0)                                      \
  A(HOST_NUMA_ID, 134, d.gpu->numa)                                                         \
  A(D3D12_CIG_SUPPORTED, 135, 0)                                                            \
  A(MEM_DECOMPRESS_ALGORITHM_MASK, 136, 0)                                                  \
  A(MEM_DECOMPRESS_MAXIMUM_LENGTH, 137, 0)                                                  \
  A(VULKAN_CIG_SUPPORTED, 138, 0)                                                           \
  A(GPU_PCI_DEVICE_ID, 139, static_cast<int>(d.model->pci_device_id))                       \
  A(GPU_PCI_SUBSYSTEM_ID, 140, static_cast<int>(d.model->pci_subsystem_id))                 \
  A(HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 141, 0)                                  \
  A(HOST_NUMA_MEMORY_POOLS_SUPPORTED, 142, 1)                                               \
  A(HOST_NUMA_MULTINODE_IPC_SUPPORTED, 143, 0)                                              \
  A(HOST_MEMORY_POOLS_SUPPORTED, 144, 1)                                                    \
  A(HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 145, 0)                                       \
  A(HOST_ALLOC_DMA_BUF_SUPPORTED, 146, 0)                                                   \
  A(ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, 147, 0)

constexpr unsigned kAttributes = 162;  // of the newest driver; the rest of them is 0 here

std::optional<int> attribute(const Device& d, unsigned number) {
  switch (number) {
#define ATTRIBUTE(name, value, answer) \
  case value:                          \
    return answer;
    DEVICE_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
    default:
      if (number == 0 || number >= kAttributes) return std::nullopt;
      return 0;
  }
}

}  // namespace

CUDA_API CUresult cuDeviceGetAttribute(int* value, unsigned int number, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(value), [&](Call&, Device& device) {
    const auto answer = attribute(device, number);
    if (!answer) return CUDA_ERROR_INVALID_VALUE;
    *value = *answer;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
