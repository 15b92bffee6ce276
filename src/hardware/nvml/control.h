#pragma once
// gpu::Control over NVML. Each call runs on a pool thread (nvml/deadline_pool.h) with the
// connection's deadline. Without persistence mode the driver forgets a GPU's state when the last
// process closes the GPU; the connection's current session keeps the GPU open.

#include <memory>

#include "gpu/control.h"
#include "nvml/connection.h"

namespace tranche::nvml {

class Control final : public gpu::Control {
 public:
  explicit Control(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

  Result<void> set_compute_mode(const std::string& uuid, gpu::ComputeMode mode) override;

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace tranche::nvml
