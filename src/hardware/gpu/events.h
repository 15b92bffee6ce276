#pragma once
// Port: hardware events (XIDs, changes of MIG layouts). Adapter: nvml/. Fake:
// tests/support/fake_events.h.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "base/result.h"
#include "gpu/ids.h"
#include "gpu/machine.h"

namespace tranche::gpu {

// An XID error: https://docs.nvidia.com/deploy/xid-errors. Numbers are NVIDIA's.
struct XidEvent {
  std::uint64_t xid = 0;
  std::optional<GpuUuid> gpu;  // nullopt: the driver does not name one; the event applies to all
  // Set when the error is confined to one MIG instance.
  std::optional<int> gpu_instance_id;
  std::optional<int> compute_instance_id;
  bool operator==(const XidEvent&) const = default;
};

// A program changed the MIG mode or the instances of a GPU. The driver may not report it, so
// callers that need to know also read the hardware periodically.
struct LayoutEvent {
  std::optional<GpuUuid> gpu;
  bool operator==(const LayoutEvent&) const = default;
};

using Event = std::variant<XidEvent, LayoutEvent>;

class EventSource {
 public:
  virtual ~EventSource() = default;

  // Replaces the previous subscription: listens only on the GPUs of `machine` from now on.
  // `unsupported`: GPUs that cannot report XIDs at all (old models); not a fault. `failed`: GPUs
  // whose registration failed; a fault.
  struct Subscription {
    std::vector<GpuUuid> unsupported;
    std::vector<GpuUuid> failed;
  };
  virtual Result<Subscription> subscribe(const Machine& machine) = 0;

  // The next event; nullopt when `timeout` has passed or `stop` was requested. After an Error no
  // more events arrive: the caller waits a while and subscribes again.
  virtual Result<std::optional<Event>> wait(std::chrono::milliseconds timeout,
                                            std::stop_token stop) = 0;
};

}  // namespace tranche::gpu
