#pragma once
// Port: hardware events (XIDs). Adapter: nvml/. Fake: tests/support/fake_events.h.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "gpu/ids.h"
#include "gpu/machine.h"

namespace tranche::gpu {

// An XID error: https://docs.nvidia.com/deploy/xid-errors. Numbers are NVIDIA's.
struct XidEvent {
  std::uint64_t xid = 0;
  std::optional<GpuUuid> gpu;  // nullopt: the driver would not say which, so all are meant
  // Set when the error is confined to a MIG instance.
  std::optional<int> gpu_instance_id;
  std::optional<int> compute_instance_id;
  bool operator==(const XidEvent&) const = default;
};

class EventSource {
 public:
  virtual ~EventSource() = default;

  // Listens on the GPUs of `machine` from now on, replacing what was listened on before. Returns
  // the GPUs that cannot report events at all (old models: fine) in `unsupported`, and those whose
  // registration failed (not fine) in `failed`.
  struct Subscription {
    std::vector<GpuUuid> unsupported;
    std::vector<GpuUuid> failed;
  };
  virtual Result<Subscription> subscribe(const Machine& machine) = 0;

  // The next event; nullopt when `timeout` passed or `stop` was requested. An Error means that
  // waiting itself failed: the caller backs off and subscribes again.
  virtual Result<std::optional<XidEvent>> wait(std::chrono::milliseconds timeout,
                                               std::stop_token stop) = 0;
};

}  // namespace tranche::gpu
