#pragma once
// Executes single steps of a change on the hardware. It finds the ids that the steps lack, from the
// reading that the steps were planned from and from what it creates itself. So it serves one
// change, and must be discarded after a failed step.

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "mig/change.h"
#include "mig/hardware.h"

namespace tranche::mig {

class StepTaker {
 public:
  // `states`: the reading.
  StepTaker(const Hardware& hardware, std::map<gpu::GpuUuid, gpu::MigState> states)
      : hardware_(hardware), before_(std::move(states)), now_(before_) {}

  // `reset_follows`: the next step resets the GPU. Otherwise a mode that needs a reset gets one at
  // once.
  Result<void> take(const Step& step, const gpu::Gpu& gpu, bool reset_follows);

 private:
  Result<void> destroy_compute(const Step& step, const gpu::Gpu& gpu);
  Result<void> destroy_gpu_instance(const Step& step, const gpu::Gpu& gpu);
  Result<void> create_gpu_instance(const Step& step);
  Result<void> create_compute(const Step& step, const gpu::Gpu& gpu);
  Result<void> set_mode_to_come(const Step& step);
  Result<void> set_mode(const Step& step, const gpu::Gpu& gpu, bool reset_follows);
  // `enabled`: the mode that the reset should activate.
  Result<void> reset(const gpu::Gpu& gpu, bool enabled);

  // Whether a mode was pending when the change began.
  bool waited(const gpu::GpuUuid& gpu) const;
  Error in_use(const gpu::Gpu& gpu, std::optional<int> instance, std::string_view said) const;
  // The same error, plus the instance's users.
  Error named(Error error, const gpu::Gpu& gpu, int instance) const;

  const Hardware& hardware_;
  const std::map<gpu::GpuUuid, gpu::MigState> before_;
  std::map<gpu::GpuUuid, gpu::MigState> now_;
  std::set<gpu::GpuUuid> in_force_;  // the mode took effect without a reset
};

}  // namespace tranche::mig
