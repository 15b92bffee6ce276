#pragma once
// Creates an event set and registers GPUs with it, one pool task per GPU.

#include <map>
#include <memory>
#include <vector>

#include "gpu/events.h"
#include "nvml/connection.h"

namespace tranche::nvml {

struct Registered {
  gpu::EventSource::Subscription subscription;
  EventSet set = nullptr;  // owned by the session; null: no GPU reports events
  std::map<Device, gpu::GpuUuid> uuids;
};

// Registers `gpus` for XIDs, ECC errors and MIG layout changes, as far as each GPU supports them.
// kUnavailable, kTimeout: no event set could be created.
Result<Registered> register_gpus(Connection& connection, const std::shared_ptr<Session>& session,
                                 std::vector<gpu::Gpu> gpus);

}  // namespace tranche::nvml
