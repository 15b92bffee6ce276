#pragma once
// gpu::TelemetryReader over NVML. Each GPU, with its MIG instances, is one task on the pool
// (nvml/deadline_pool.h), so that one that hangs does not delay the others; while it hangs, neither
// of its readings is begun anew.
//
// Not thread-safe: one owner at a time. If the driver is unloaded, readings fail until it is back;
// the same object then works again. Activity then begins anew. GPM's counters are refreshed every
// 100 ms: readings nearer together than that may have no activity.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/telemetry.h"
#include "nvml/connection.h"
#include "nvml/gpm.h"

namespace tranche::nvml {

class TelemetryReader final : public gpu::TelemetryReader {
 public:
  explicit TelemetryReader(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  Result<std::vector<Result<gpu::FastReading>>> read_fast(
      std::span<const std::string> gpus) override;
  Result<std::vector<Result<gpu::SlowReading>>> read_slow(
      std::span<const std::string> gpus) override;

 private:
  std::shared_ptr<GpmTracker> tracker(const std::string& uuid,
                                      const std::shared_ptr<Session>& session);
  // `work(uuid)` is what reads the GPU on the pool.
  template <class Reading, class Work>
  std::vector<Result<Reading>> read(std::span<const std::string> gpus,
                                    std::shared_ptr<Session> session, Work work);

  std::shared_ptr<Connection> connection_;
  std::map<std::string, std::shared_ptr<GpmTracker>> trackers_;  // by UUID
};

}  // namespace tranche::nvml
