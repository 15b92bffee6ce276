#pragma once
// gpu::MigControl over NVML. Each operation runs on the object's own pool (nvml/deadline_pool.h);
// `deadline` is the longest duration of one NVML call. It is longer than for readings, because
// the driver resets a GPU within nvmlDeviceSetMigMode. Thread-safe; one operation per GPU at a
// time.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "gpu/mig_control.h"
#include "nvml/connection.h"
#include "nvml/mig_calls.h"

namespace tranche::nvml {

class MigControl final : public gpu::MigControl {
 public:
  explicit MigControl(std::shared_ptr<Connection> connection,
                      std::chrono::milliseconds deadline = std::chrono::seconds(60));

  Result<gpu::MigState> read(const gpu::GpuUuid& gpu) override;
  Result<Activation> set_mode(const gpu::GpuUuid& gpu, bool enabled) override;
  Result<int> create_gpu_instance(const gpu::GpuUuid& gpu, int profile_id, int start) override;
  Result<int> create_compute_instance(const gpu::GpuUuid& gpu, int gpu_instance, int slices,
                                      int start) override;
  Result<void> destroy_compute_instance(const gpu::GpuUuid& gpu, int gpu_instance,
                                        int compute_instance) override;
  Result<void> destroy_gpu_instance(const gpu::GpuUuid& gpu, int gpu_instance) override;

 private:
  // Runs `work` on the pool with the GPU's handle. `what` prefixes an error: "create ...".
  template <class Value>
  Result<Value> run(const gpu::GpuUuid& gpu, const std::string& what,
                    std::function<Result<Value>(MigCalls&)> work);

  std::shared_ptr<Connection> connection_;
  std::chrono::milliseconds deadline_;
  DeadlinePool pool_;
};

}  // namespace tranche::nvml
