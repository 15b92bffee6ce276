#include "sim/cuda/launch.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/cuda/context_settings.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::uint64_t kLongest = 10'000'000'000'000;  // ns; more than any kernel runs
constexpr unsigned kMostGridX = std::numeric_limits<int>::max();
constexpr unsigned kMostGrid = 65535;
constexpr unsigned kMostBlock = 1024;
constexpr unsigned kMostBlockZ = 64;

bool is_within(const Extent& extent, unsigned x, unsigned y, unsigned z) {
  return extent.x > 0 && extent.y > 0 && extent.z > 0 && extent.x <= x && extent.y <= y &&
         extent.z <= z;
}

CUresult check(const Function& function, const Device& device, const LaunchShape& shape) {
  if (!is_within(shape.grid, kMostGridX, kMostGrid, kMostGrid) ||
      !is_within(shape.block, kMostBlock, kMostBlock, kMostBlockZ) ||
      shape.block.count() > kThreadsPerBlock) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shape.block.count() > function.entry.most_threads) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const auto most_shared =
      attribute_of(function, device, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  if (shape.shared_bytes > static_cast<unsigned>(std::max(0, most_shared.value_or(0)))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shape.cluster.count() > 1) {
    if (device.limits.capability < 90) return CUDA_ERROR_NOT_SUPPORTED;
    if (shape.grid.x % shape.cluster.x != 0 || shape.grid.y % shape.cluster.y != 0 ||
        shape.grid.z % shape.cluster.z != 0) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
  }
  if (shape.is_cooperative) {
    const auto threads = static_cast<int>(shape.block.count());
    const auto room =
        static_cast<std::uint64_t>(blocks_per_sm(function, device, threads, shape.shared_bytes)) *
        device.sm_count;
    if (shape.grid.count() > room) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

// "extra": pairs of a key and a value, ended by a zero. A buffer holds the parameters as they are.
CUresult take_buffer(void** extra, std::vector<std::byte>& out) {
  const std::byte* buffer = nullptr;
  std::size_t size = 0;
  constexpr std::uintptr_t kBufferPointer = 1;
  constexpr std::uintptr_t kBufferSize = 2;
  for (; *extra != nullptr; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(*extra);  // NOLINT: a number
    if (key == kBufferPointer) {
      buffer = static_cast<const std::byte*>(extra[1]);
    } else if (key == kBufferSize) {
      size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (buffer == nullptr && size > 0) return CUDA_ERROR_INVALID_VALUE;
  out.assign(buffer, buffer + size);
  return CUDA_SUCCESS;
}

// Blocks of the kernel that the GPU runs at once.
std::uint64_t blocks_at_once(const Context& context, const KernelWork& kernel) {
  const auto threads = static_cast<int>(kernel.block.count());
  const auto each = static_cast<std::uint64_t>(
      blocks_per_sm(*kernel.function, context.device, threads, kernel.shared_bytes));
  return std::max<std::uint64_t>(1, each * context.device.sm_count);
}

}  // namespace

std::uint64_t value_of(const KernelWork& kernel, unsigned index) {
  const PtxParameter& parameter = kernel.function->entry.parameters[index];
  std::uint64_t value = 0;
  const std::size_t size = std::min<std::size_t>(parameter.size, sizeof value);
  if (parameter.offset + size > kernel.parameters.size()) return 0;
  std::memcpy(&value, kernel.parameters.data() + parameter.offset, size);
  return value;
}

CUresult make_kernel(Call& call, const FunctionPtr& function, const LaunchShape& shape,
                     void** parameters, void** extra, KernelWork& out) {
  if (!function) return CUDA_ERROR_INVALID_HANDLE;
  if (function->context.lock() != call.context) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult good = check(*function, call.context->device, shape);
  if (good != CUDA_SUCCESS) return good;
  const CUresult grown = grow_for(*call.context, *function);
  if (grown != CUDA_SUCCESS) return grown;
  function->is_loaded = true;
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = {.function = function,
         .grid = shape.grid,
         .block = shape.block,
         .shared_bytes = shape.shared_bytes};
  const PtxEntry& entry = function->entry;
  if (extra != nullptr) return take_buffer(extra, out.parameters);
  if (entry.parameters.empty()) return CUDA_SUCCESS;
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out.parameters.resize(entry.parameter_bytes());
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(out.parameters.data() + entry.parameters[i].offset, parameters[i],
                entry.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

std::uint64_t duration_ns(const Context& context, const KernelWork& kernel) {
  const Duration& declared = kernel.function->entry.duration;
  std::uint64_t ns = declared.parameter ? value_of(kernel, *declared.parameter) : declared.ns;
  ns = std::min(ns, kLongest);
  if (!declared.per_block) return ns;
  const std::uint64_t at_once = blocks_at_once(context, kernel);
  const std::uint64_t rounds = (kernel.grid.count() + at_once - 1) / at_once;
  return std::min(kLongest, ns * std::min(rounds, kLongest / std::max<std::uint64_t>(1, ns)));
}

unsigned width_of(const Context& context, const KernelWork& kernel) {
  const std::uint64_t at_once = blocks_at_once(context, kernel);
  const std::uint64_t blocks = kernel.grid.count();
  if (!kernel.function->entry.duration.beside_others || blocks >= at_once) return Overlap::kWhole;
  return std::max(1U, static_cast<unsigned>(blocks * Overlap::kWhole / at_once));
}

void make_parameters_resident(Call& call, Device& device, const KernelWork& kernel) {
  for (unsigned i = 0; i < kernel.function->entry.parameters.size(); ++i) {
    if (kernel.function->entry.parameters[i].size != sizeof(CUdeviceptr)) continue;
    Range* const range = call.driver.space->find(value_of(kernel, i));
    if (range != nullptr) make_resident(call, device, *range, range->size);
  }
}

Extent cluster_of(const CUlaunchConfig& config) {
  Extent cluster;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    std::memcpy(&cluster, config.attrs[i].value.pad, sizeof cluster);
  }
  return cluster;
}

}  // namespace tranche::sim::cuda
