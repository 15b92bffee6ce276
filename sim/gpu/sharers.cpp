#include "sim/gpu/sharers.h"

namespace tranche::sim {
namespace {

std::uint32_t number_of(const Simulation& sim, const ProcessSlot& slot) {
  return static_cast<std::uint32_t>(&slot - sim.state().processes);
}

bool is_alive(const Simulation& sim, const Sharer& sharer) {
  return sharer.holds.load(std::memory_order_acquire) != 0 &&
         is_alive(sim, sharer.slot, sharer.claim);
}

}  // namespace

bool is_alive(const Simulation& sim, std::uint32_t slot, std::uint64_t claim) {
  return sim.state().processes[slot].holder.load() == claim && sim.holder(slot).has_value();
}

Sharer* find_sharer(const Simulation& sim, std::span<Sharer> sharers, const ProcessSlot& slot) {
  for (Sharer& sharer : sharers) {
    const bool is_own = sharer.holds.load(std::memory_order_acquire) != 0 &&
                        sharer.slot == number_of(sim, slot) && sharer.claim == slot.holder.load();
    if (is_own) return &sharer;
  }
  return nullptr;
}

const Sharer* first_sharer(const Simulation& sim, std::span<const Sharer> sharers) {
  for (const Sharer& sharer : sharers) {
    if (is_alive(sim, sharer)) return &sharer;
  }
  return nullptr;
}

bool add_sharer(const Simulation& sim, std::span<Sharer> sharers, const ProcessSlot& slot) {
  for (Sharer& sharer : sharers) {
    if (sharer.holds.load() == 0) {
      sharer.slot = number_of(sim, slot);
      sharer.claim = slot.holder.load();
      sharer.holds.store(1, std::memory_order_release);
      return true;
    }
  }
  return false;
}

unsigned close_ranks(const Simulation& sim, std::span<Sharer> sharers) {
  unsigned kept = 0;
  for (Sharer& sharer : sharers) {
    const std::uint32_t holds = sharer.holds.load();
    const bool lives = is_alive(sim, sharer);
    sharer.holds.store(0, std::memory_order_release);
    if (!lives) continue;
    Sharer& place = sharers[kept++];
    place.slot = sharer.slot;
    place.claim = sharer.claim;
    place.holds.store(holds, std::memory_order_release);
  }
  return kept;
}

}  // namespace tranche::sim
