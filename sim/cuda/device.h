#pragma once
// One CUDA device of this process: a visible GPU or MIG device, its primary context, and what all
// contexts of the process on it share.

#include <memory>
#include <optional>
#include <string>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/architecture.h"
#include "sim/cuda/mps.h"
#include "sim/cuda/vram.h"
#include "sim/gpu/gpu_time.h"
#include "sim/gpu/uses.h"

namespace tranche::sim::cuda {

struct Context;
struct Pool;

// What a device needs from its process.
struct DeviceOwner {
  const Simulation& sim;
  ProcessSlot& slot;
  const MpsClient& mps;
};

struct Device {
  Device(const DeviceOwner& of, int number, const UseTarget& which)
      : owner(of), ordinal(number), target(which) {}

  DeviceOwner owner;
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

  // Set while the process has anything there (hold()).
  Use* use = nullptr;
  std::unique_ptr<Vram> vram;
  unsigned holders = 0;

  std::shared_ptr<Context> primary;  // null while it is inactive
  unsigned primary_users = 0;
  std::uint64_t primary_number = 0;  // of its permanent handle; 0: it was never active

  std::shared_ptr<Pool> pool;

  std::uint64_t graph_used_high = 0;  // bytes of memory allocated by graphs
  std::uint64_t graph_reserved_high = 0;

  std::optional<GpuTime> time;

  // The process uses the device while it holds it. False: the machine has no room for it.
  bool hold();
  void drop();
  // Bytes that this process may still take there, regardless of others.
  std::uint64_t room() const;
  // Whether it is connected to switches that can write to several GPUs at once.
  bool multicasts() const;
  SharedMemoryLabel label(std::uint64_t size) const;
};

// Uses the machine's information about `target`. nullptr: no room for its timeline.
std::unique_ptr<Device> make_device(const DeviceOwner& owner, int ordinal, const UseTarget& target);
// Whether `device` may access memory of `other`.
bool can_access(const Device& device, const Device& other);

}  // namespace tranche::sim::cuda
