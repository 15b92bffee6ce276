#pragma once
// gpu::Control over NVML, each call on a thread of the pool (nvml/deadline_pool.h) with the
// connection's deadline. While the connection's session is in force the driver keeps a GPU's state,
// which it otherwise forgets with the last process that has the GPU open (unless persistence is
// on).

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
