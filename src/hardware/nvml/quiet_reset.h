#pragma once
// A gpu::GpuReset that makes this process release NVML meanwhile. Hardware readers wait until the
// reset is done (Connection::release_driver).

#include <memory>
#include <utility>

#include "gpu/mig_control.h"
#include "nvml/connection.h"

namespace tranche::nvml {

class QuietReset final : public gpu::GpuReset {
 public:
  // `reset` must outlive this.
  QuietReset(std::shared_ptr<Connection> connection, gpu::GpuReset& reset)
      : connection_(std::move(connection)), reset_(reset) {}

  // Also kTimeout if NVML hangs in this process.
  Result<void> reset(const gpu::PciAddress& gpu) override {
    ASSIGN_OR_RETURN(const auto pause, connection_->release_driver());
    return reset_.reset(gpu);
  }

 private:
  std::shared_ptr<Connection> connection_;
  gpu::GpuReset& reset_;
};

}  // namespace tranche::nvml
