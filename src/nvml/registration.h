#pragma once
// Makes an event set and registers GPUs with it, each on a thread of the pool of its own.

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

// XIDs and ECC errors of `gpus`, those that each supports. kUnavailable, kTimeout: no event set.
Result<Registered> register_gpus(Connection& connection, const std::shared_ptr<Session>& session,
                                 std::vector<gpu::Gpu> gpus);

}  // namespace tranche::nvml
