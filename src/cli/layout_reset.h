#pragma once
// gpu::GpuReset for a process that uses NVML itself: it lets go of NVML first, for a GPU that
// anybody has open is not reset.

#include <memory>

#include "host/gpu_reset.h"
#include "nvml/connection.h"

namespace tranche::cli {

class LayoutReset final : public gpu::GpuReset {
 public:
  LayoutReset(std::shared_ptr<nvml::Connection> connection, host::GpuReset::Options options)
      : connection_(std::move(connection)), by_program_(std::move(options)) {}

  Result<void> reset(const gpu::PciAddress& gpu) override {
    connection_->restart();
    return by_program_.reset(gpu);
  }

 private:
  std::shared_ptr<nvml::Connection> connection_;
  host::GpuReset by_program_;
};

}  // namespace tranche::cli
