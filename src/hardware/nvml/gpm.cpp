#include "nvml/gpm.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tranche::nvml {
namespace {

constexpr double kMib = 1024.0 * 1024.0;

enum class Unit { kRatio, kBytesPerSecond };
struct Metric {
  std::uint32_t id;
  Unit unit;
  std::optional<double> gpu::Activity::* figure;
};

constexpr Metric kMetrics[] = {
    {kGpmGraphics, Unit::kRatio, &gpu::Activity::graphics},
    {kGpmSm, Unit::kRatio, &gpu::Activity::sm},
    {kGpmSmOccupancy, Unit::kRatio, &gpu::Activity::sm_occupancy},
    {kGpmAnyTensor, Unit::kRatio, &gpu::Activity::tensor},
    {kGpmDram, Unit::kRatio, &gpu::Activity::dram},
    {kGpmFp64, Unit::kRatio, &gpu::Activity::fp64},
    {kGpmFp32, Unit::kRatio, &gpu::Activity::fp32},
    {kGpmFp16, Unit::kRatio, &gpu::Activity::fp16},
    {kGpmPcieSent, Unit::kBytesPerSecond, &gpu::Activity::pcie_sent},
    {kGpmPcieReceived, Unit::kBytesPerSecond, &gpu::Activity::pcie_received},
    {kGpmNvlinkSent, Unit::kBytesPerSecond, &gpu::Activity::nvlink_sent},
    {kGpmNvlinkReceived, Unit::kBytesPerSecond, &gpu::Activity::nvlink_received},
};
static_assert(std::size(kMetrics) <= kGpmMetrics);

std::optional<double> figure_of(const GpmMetric& metric, Unit unit) {
  // A part and its time are not counted at one instant, so a busy part may have had a little more.
  constexpr double kMostPercent = 101;
  if (metric.result != kSuccess || !std::isfinite(metric.value) || metric.value < 0) {
    return std::nullopt;
  }
  if (unit == Unit::kBytesPerSecond) return metric.value * kMib;
  if (metric.value > kMostPercent) return std::nullopt;
  return std::min(metric.value / 100, 1.0);
}

}  // namespace

gpu::Activity activity_between(FigureCalls& call, GpmSample first, GpmSample second) {
  const auto request = std::make_unique<GpmMetricsGet>();
  request->version = kGpmVersion;
  request->count = std::size(kMetrics);
  request->first = first;
  request->second = second;
  for (std::size_t i = 0; i < std::size(kMetrics); ++i) {
    request->metrics[i].metric_id = kMetrics[i].id;
  }
  gpu::Activity activity;
  if (!call.tells(call.api().nvmlGpmMetricsGet, request.get())) return activity;
  for (std::size_t i = 0; i < std::size(kMetrics); ++i) {
    activity.*kMetrics[i].figure = figure_of(request->metrics[i], kMetrics[i].unit);
  }
  return activity;
}

GpmBuffer::~GpmBuffer() {
  if (sample_ == nullptr) return;
  // (A session that has ended has freed it.)
  if (const auto session = session_.lock()) session->release(sample_);
}

bool GpmBuffer::provide(FigureCalls& call, const std::shared_ptr<Session>& session) {
  if (sample_ != nullptr) return true;
  if (!call.tells(call.api().nvmlGpmSampleAlloc, &sample_) || sample_ == nullptr) {
    sample_ = nullptr;
    return false;
  }
  session->keep(sample_);
  session_ = session;
  return true;
}

template <class Take>
gpu::Activity GpmTracker::advance(FigureCalls& call, const std::shared_ptr<Session>& session,
                                  Track& track, Take take) {
  if (!track.next.provide(call, session) || take(track.next.sample()) != kSuccess) {
    track.has_newest = false;
    return {};
  }
  gpu::Activity activity;
  if (track.has_newest)
    activity = activity_between(call, track.newest.sample(), track.next.sample());
  track.newest.swap(track.next);
  track.has_newest = true;
  return activity;
}

bool GpmTracker::is_supported(FigureCalls& call, Device device) {
  if (supported_) return *supported_;
  GpmSupport support = {.version = kGpmVersion, .is_supported = 0};
  const Return result = call.ask(call.api().nvmlGpmQueryDeviceSupport, device, &support);
  if (result == kSuccess) supported_ = support.is_supported != 0;
  if (result == kNotSupported || result == kFunctionNotFound) supported_ = false;
  return supported_.value_or(false);  // else it is asked again
}

gpu::Activity GpmTracker::of_gpu(FigureCalls& call, const std::shared_ptr<Session>& session,
                                 Device device) {
  if (!is_supported(call, device)) return {};
  return advance(call, session, gpu_, [&](GpmSample sample) {
    return call.ask(call.api().nvmlGpmSampleGet, device, sample);
  });
}

gpu::Activity GpmTracker::of_instance(FigureCalls& call, const std::shared_ptr<Session>& session,
                                      Device device, Device mig) {
  unsigned id = 0;
  if (!is_supported(call, device) || !call.tells(call.api().nvmlDeviceGetGpuInstanceId, mig, &id)) {
    return {};
  }
  if (const auto seen = seen_.find(id); seen != seen_.end()) return seen->second;
  Track& track = instances_[id];
  if (const Identity now = identity_of(call, device, id); track.identity != now) {
    track.identity = now;
    track.has_newest = false;
  }
  return seen_[id] = advance(call, session, track, [&](GpmSample sample) {
           return call.ask(call.api().nvmlGpmMigSampleGet, device, id, sample);
         });
}

GpmTracker::Identity GpmTracker::identity_of(FigureCalls& call, Device device, unsigned id) {
  Identity identity;
  GpuInstanceInfo info = {};
  if (call.tells(call.api().nvmlDeviceGetGpuInstanceById, device, id, &identity.handle) &&
      call.tells(call.api().nvmlGpuInstanceGetInfo, identity.handle, &info)) {
    identity.profile = info.profile_id;
    identity.start = info.placement.start;
  }
  return identity;
}

void GpmTracker::end_instances() {
  std::erase_if(instances_, [&](const auto& entry) { return !seen_.contains(entry.first); });
}

}  // namespace tranche::nvml
