#include "agent/gpunode/pacer.h"

#include <algorithm>

namespace tranche::agent {
namespace {

cluster::GpuNodeStatus without_counts(cluster::GpuNodeStatus status) {
  status.holdings.clear();
  status.summary.held = 0;
  status.truncated.holdings = 0;
  return status;
}

}  // namespace

StatusChange change_of(const std::optional<cluster::GpuNodeStatus>& written,
                       const cluster::GpuNodeStatus& wanted) {
  if (written == wanted) return StatusChange::kNone;
  if (written && without_counts(*written) == without_counts(wanted)) return StatusChange::kCounts;
  return StatusChange::kMore;
}

void Pacer::see(StatusChange change, TimePoint now) {
  if (change_ == StatusChange::kNone) since_ = now;
  change_ = change;
}

std::optional<Pacer::TimePoint> Pacer::due() const {
  if (change_ == StatusChange::kNone) return std::nullopt;
  const bool counts = change_ == StatusChange::kCounts;
  auto at = counts ? since_ + kSettle : since_;
  if (wrote_) at = std::max<TimePoint>(at, *wrote_ + kBetweenWrites);
  if (counts && wrote_counts_) at = std::max<TimePoint>(at, *wrote_counts_ + kBetweenCounts);
  return std::max(at, not_before_);
}

void Pacer::wrote(TimePoint now) {
  wrote_ = now;
  if (change_ == StatusChange::kCounts) wrote_counts_ = now;
  change_ = StatusChange::kNone;
  not_before_ = {};
  backoff_.reset();
}

void Pacer::failed(TimePoint now, std::chrono::milliseconds wait) {
  not_before_ = now + std::max(backoff_.next(), wait);
}

}  // namespace tranche::agent
