#include "sim/gpu/shared_memory.h"

namespace tranche::sim {
namespace {

std::uint32_t number_of(const Simulation& sim, const ProcessSlot& slot) {
  return static_cast<std::uint32_t>(&slot - sim.state().processes);
}

bool is_own(const Simulation& sim, const Sharer& sharer, const ProcessSlot& slot) {
  return sharer.holds.load(std::memory_order_acquire) != 0 && sharer.slot == number_of(sim, slot) &&
         sharer.claim == slot.holder.load();
}

bool is_alive(const Simulation& sim, const Sharer& sharer) {
  return sharer.holds.load(std::memory_order_acquire) != 0 &&
         sim.state().processes[sharer.slot].holder.load() == sharer.claim &&
         sim.holder(sharer.slot).has_value();
}

const Sharer* first_holder(const Simulation& sim, const SharedMemory& memory) {
  for (const Sharer& sharer : memory.sharers) {
    if (is_alive(sim, sharer)) return &sharer;
  }
  return nullptr;
}

SharedMemory* find(const Simulation& sim, SharedMemoryId id) {
  if (id.place >= kMaxSharedMemories) return nullptr;
  SharedMemory& memory = sim.state().shared_memories[id.place];
  return id.serial != 0 && memory.serial.load() == id.serial ? &memory : nullptr;
}

// Those that died are forgotten, and who lives moves up: they stay in the order in which they came.
void close_ranks(const Simulation& sim, SharedMemory& memory) {
  unsigned kept = 0;
  for (Sharer& sharer : memory.sharers) {
    const std::uint32_t holds = sharer.holds.load();
    const bool lives = is_alive(sim, sharer);
    sharer.holds.store(0, std::memory_order_release);
    if (!lives) continue;
    Sharer& place = memory.sharers[kept++];
    place.slot = sharer.slot;
    place.claim = sharer.claim;
    place.holds.store(holds, std::memory_order_release);
  }
  if (kept == 0) memory.serial.store(0, std::memory_order_release);
}

bool add_sharer(const Simulation& sim, SharedMemory& memory, const ProcessSlot& slot) {
  for (Sharer& sharer : memory.sharers) {
    if (sharer.holds.load() == 0) {
      sharer.slot = number_of(sim, slot);
      sharer.claim = slot.holder.load();
      sharer.holds.store(1, std::memory_order_release);
      return true;
    }
  }
  return false;
}

}  // namespace

Result<SharedMemoryId> add_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                         std::uint64_t bytes) {
  State& state = sim.state();
  for (std::uint32_t place = 0; place < kMaxSharedMemories; ++place) {
    SharedMemory& memory = state.shared_memories[place];
    if (memory.serial.load() != 0) close_ranks(sim, memory);
    if (memory.serial.load() != 0) continue;
    memory.bytes = bytes;
    memory.gpu = use.gpu;
    memory.gpu_instance = use.gpu_instance;
    add_sharer(sim, memory, slot);
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
  for (Sharer& sharer : memory->sharers) {
    if (!is_own(sim, sharer, slot)) continue;
    sharer.holds.fetch_add(1);
    return {};
  }
  close_ranks(sim, *memory);
  if (memory->serial.load() == 0) return fail(Code::kNotFound, "nobody holds that memory");
  if (add_sharer(sim, *memory, slot)) return {};
  return fail(Code::kUnavailable, "too many processes share that memory");
}

void drop_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id) {
  const Simulation::Guard guard(sim.state());
  SharedMemory* const memory = find(sim, id);
  if (memory == nullptr) return;
  for (Sharer& sharer : memory->sharers) {
    if (is_own(sim, sharer, slot)) sharer.holds.fetch_sub(1);
  }
  close_ranks(sim, *memory);
}

std::uint64_t shared_bytes(const Simulation& sim, const LiveUse& live) {
  std::uint64_t sum = 0;
  if (sim.state().shared_memory_serial.load() == 0) return sum;
  for (const SharedMemory& memory : sim.state().shared_memories) {
    if (memory.serial.load(std::memory_order_acquire) == 0) continue;
    if (memory.gpu != live.use->gpu || memory.gpu_instance != live.use->gpu_instance) continue;
    const Sharer* const first = first_holder(sim, memory);
    if (first != nullptr && first->slot == number_of(sim, *live.process)) sum += memory.bytes;
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
