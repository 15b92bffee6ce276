// Memory that graphs allocate and free.

#include <algorithm>

#include "sim/cuda/graph.h"
#include "sim/cuda/library.h"

namespace tranche::sim::cuda {
namespace {

struct Sums {
  std::uint64_t used = 0;
  std::uint64_t reserved = 0;
};

// The memory of all of the device's graphs, including destroyed ones whose memory is still in use.
std::vector<std::shared_ptr<GraphMemory>> memories_of(Driver& driver, const Device& device) {
  std::vector<std::shared_ptr<GraphMemory>> found;
  const auto add = [&](const Work& work) {
    const auto* const allocation = std::get_if<AllocWork>(&work);
    if (allocation == nullptr || allocation->memory->device != &device) return;
    if (std::ranges::find(found, allocation->memory) != found.end()) return;
    found.push_back(allocation->memory);
  };
  for (const auto& [number, node] : driver.nodes) add(node->work);
  for (const auto& [number, exec] : driver.execs) {
    for (const ExecNode& node : exec->nodes) add(node.work);
  }
  return found;
}

Sums sums_of(Driver& driver, const Device& device) {
  Sums sums;
  for (const auto& memory : memories_of(driver, device)) {
    if (memory->block) sums.reserved += memory->size;
    if (memory->is_live) sums.used += memory->size;
  }
  return sums;
}

}  // namespace

GraphMemory::~GraphMemory() {
  if (driver != nullptr) driver->space->release(address, size);
}

CUresult reserve_graph_memory(Call& call, AllocWork& allocation) {
  const auto& parameters = allocation.parameters;
  Device* const device = call.driver.device(parameters.poolProps.location.id);
  const bool known = parameters.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                     device != nullptr && parameters.bytesize > 0;
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  auto memory = std::make_shared<GraphMemory>();
  memory->size = round_up(parameters.bytesize, kPage);
  const auto address = call.driver.space->reserve(memory->size, kPage, 0);
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  memory->driver = &call.driver;
  memory->device = device;
  memory->address = *address;
  allocation.parameters.dptr = *address;
  allocation.memory = std::move(memory);
  return CUDA_SUCCESS;
}

CUresult map_graph_memory(Call& call, const AllocWork& allocation) {
  const auto& memory = allocation.memory;
  if (memory->is_live) return CUDA_ERROR_INVALID_VALUE;
  if (!memory->block) memory->block = Block::make(*memory->device, memory->size, false);
  if (!memory->block) return CUDA_ERROR_OUT_OF_MEMORY;
  memory->is_live = true;
  call.driver.space->add(
      {.base = memory->address,
       .size = allocation.parameters.bytesize,
       .kind = RangeKind::kGraph,
       .device = memory->device,
       .piece = {.block = memory->block, .address = memory->address, .size = memory->size},
       .graph_memory = memory});
  return CUDA_SUCCESS;
}

void free_graph_memory(Driver& driver, const Exec& exec) {
  for (const ExecNode& node : exec.nodes) {
    const auto* const allocation = std::get_if<AllocWork>(&node.work);
    if (allocation == nullptr || !allocation->memory->is_live) continue;
    allocation->memory->is_live = false;
    driver.space->erase(allocation->memory->address);
  }
}

CUDA_API CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  return on_device(__func__, ordinal, true, [&](Call& call, Device& device) {
    call.driver.executor.pump(call.lock);
    for (const auto& memory : memories_of(call.driver, device)) {
      if (!memory->is_live) memory->block = nullptr;
    }
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute,
                                               void* value) {
  return on_device(__func__, ordinal, given(value), [&](Call& call, Device& device) {
    call.driver.executor.pump(call.lock);
    const Sums sums = sums_of(call.driver, device);
    device.graph_used_high = std::max(device.graph_used_high, sums.used);
    device.graph_reserved_high = std::max(device.graph_reserved_high, sums.reserved);
    auto& out = *static_cast<std::uint64_t*>(value);
    switch (attribute) {
      case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        out = sums.used;
        return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        out = device.graph_used_high;
        return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        out = sums.reserved;
        return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        out = device.graph_reserved_high;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace tranche::sim::cuda
