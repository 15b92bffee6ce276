#include "agent/limits/living_arbiter.h"

#include "process/liveness_file.h"

namespace tranche::agent {

LivingArbiter::LivingArbiter(const std::filesystem::path& dir, const Clock& clock)
    : alive_(dir.empty() ? dir : dir / process::LivenessFile::kArbiters),
      clock_(clock),
      status_(dir) {}

bool LivingArbiter::refresh() {
  const bool runs =
      !alive_.empty() && process::LivenessFile::check(alive_, clock_, "arbiter").has_value();
  if (!runs || !status_.refresh()) status_.forget();
  return runs;
}

}  // namespace tranche::agent
