#include "sim/gpu/shared_memory.h"

#include "sim/gpu/sharers.h"

namespace tranche::sim {
namespace {

SharedMemory* find(const Simulation& sim, SharedMemoryId id) {
  if (id.place >= kMaxSharedMemories) return nullptr;
  SharedMemory& memory = sim.state().shared_memories[id.place];
  return id.serial != 0 && memory.serial.load() == id.serial ? &memory : nullptr;
}

void forget_the_dead(const Simulation& sim, SharedMemory& memory) {
  if (close_ranks(sim, memory.sharers) == 0) memory.serial.store(0, std::memory_order_release);
}

}  // namespace

Result<SharedMemoryId> add_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                         std::uint64_t bytes) {
  State& state = sim.state();
  for (std::uint32_t place = 0; place < kMaxSharedMemories; ++place) {
    SharedMemory& memory = state.shared_memories[place];
    if (memory.serial.load() != 0) forget_the_dead(sim, memory);
    if (memory.serial.load() != 0) continue;
    memory.bytes = bytes;
    memory.gpu = use.gpu;
    memory.gpu_instance = use.gpu_instance;
    add_sharer(sim, memory.sharers, slot);
    const std::uint64_t serial = state.shared_memory_serial.fetch_add(1) + 1;
    memory.serial.store(serial, std::memory_order_release);
    return SharedMemoryId{.place = place, .serial = serial};
  }
  return fail(Code::kUnavailable, "too much memory is shared on this simulated machine");
}

Result<void> hold_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id) {
  const Simulation::Guard guard(sim.state());
  SharedMemory* const memory = find(sim, id);
  if (memory == nullptr) return fail(Code::kNotFound, "nobody holds that memory");
  if (Sharer* const own = find_sharer(sim, memory->sharers, slot); own != nullptr) {
    own->holds.fetch_add(1);
    return {};
  }
  forget_the_dead(sim, *memory);
  if (memory->serial.load() == 0) return fail(Code::kNotFound, "nobody holds that memory");
  if (add_sharer(sim, memory->sharers, slot)) return {};
  return fail(Code::kUnavailable, "too many processes share that memory");
}

void drop_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id) {
  const Simulation::Guard guard(sim.state());
  SharedMemory* const memory = find(sim, id);
  if (memory == nullptr) return;
  Sharer* const own = find_sharer(sim, memory->sharers, slot);
  if (own != nullptr) own->holds.fetch_sub(1);
  forget_the_dead(sim, *memory);
}

std::uint64_t shared_bytes(const Simulation& sim, const LiveUse& live) {
  std::uint64_t sum = 0;
  if (sim.state().shared_memory_serial.load() == 0) return sum;
  for (const SharedMemory& memory : sim.state().shared_memories) {
    if (memory.serial.load(std::memory_order_acquire) == 0) continue;
    if (memory.gpu != live.use->gpu || memory.gpu_instance != live.use->gpu_instance) continue;
    const Sharer* const first = first_sharer(sim, memory.sharers);
    if (first != nullptr && &sim.state().processes[first->slot] == live.process) {
      sum += memory.bytes;
    }
  }
  return sum;
}

std::uint64_t memory_of(const Simulation& sim, const LiveUse& live) {
  return live.use->memory.load(std::memory_order_relaxed) + shared_bytes(sim, live);
}
std::uint64_t memory_of(const Simulation& sim, const ProcessSlot& own, const Use& use) {
  return memory_of(sim, {.process = &own, .use = &use});
}

}  // namespace tranche::sim
