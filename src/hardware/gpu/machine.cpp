#include "gpu/machine.h"

#include <algorithm>

namespace tranche::gpu {
namespace {

// The description of `old` with the new presence and its reason.
Gpu with_presence(Gpu old, Presence presence, std::string reason) {
  old.presence = presence;
  old.presence_reason = std::move(reason);
  return old;
}

}  // namespace

Bytes Gpu::usable_memory() const {
  if (memory.value == 0) return {};
  const auto left = Bytes{memory.value - std::min(memory.value, reserved.value)}.mib();
  return Bytes::from_mib(std::max<std::uint64_t>(left, 1));
}

const Gpu* find_gpu(const Machine& machine, const GpuUuid& uuid) {
  const auto found = std::ranges::find(machine.gpus, uuid, &Gpu::uuid);
  return found == machine.gpus.end() ? nullptr : &*found;
}

Machine remember_lost(const Machine& before, Machine now) {
  for (Gpu& gpu : now.gpus) {
    if (gpu.presence == Presence::kPresent) continue;
    const Gpu* old = find_gpu(before, gpu.uuid);
    if (old != nullptr) gpu = with_presence(*old, gpu.presence, gpu.presence_reason);
  }
  bool added = false;
  for (const Gpu& old : before.gpus) {
    if (find_gpu(now, old.uuid) != nullptr) continue;
    now.gpus.push_back(with_presence(old, Presence::kLost, "the driver no longer lists it"));
    added = true;
  }
  // NVML renumbers GPUs when one goes, so two may have the same index. A stable sort puts the one
  // that is present first.
  if (added) std::ranges::stable_sort(now.gpus, {}, &Gpu::index);
  return now;
}

}  // namespace tranche::gpu
