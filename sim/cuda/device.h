#pragma once
// One CUDA device of this process: a GPU or a MIG device that is shown to it, its primary context,
// and what all contexts of the process on it share.

#include <memory>
#include <optional>
#include <string>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/architecture.h"
#include "sim/cuda/vram.h"
#include "sim/gpu/gpu_time.h"
#include "sim/gpu/uses.h"

namespace tranche::sim::cuda {

struct Context;
struct Driver;
struct Pool;

struct Device {
  Driver* driver = nullptr;
  int ordinal = 0;
  UseTarget target;
  std::string name;
  abi::CUuuid uuid = {};         // its own
  abi::CUuuid parent_uuid = {};  // of the GPU
  std::uint32_t sm_count = 0;
  std::uint64_t total_bytes = 0;
  const Gpu* gpu = nullptr;
  const Model* model = nullptr;
  ArchitectureLimits limits;

  // While the process has anything there (Driver::hold).
  Use* use = nullptr;
  std::unique_ptr<Vram> vram;
  unsigned holders = 0;

  std::shared_ptr<Context> primary;
  unsigned primary_users = 0;

  std::shared_ptr<Pool> pool;

  std::uint64_t graph_used_high = 0;  // bytes, of memory that graphs allocate
  std::uint64_t graph_reserved_high = 0;

  std::optional<GpuTime> time;
};

}  // namespace tranche::sim::cuda
