#include "agent/health/health_reporter.h"

#include <utility>

namespace tranche::agent {

HealthReporter::HealthReporter(Parts parts)
    : parts_(std::move(parts)),
      notices_(parts_.node),
      events_(parts_.objects, "tranche.dev/agent", parts_.node, parts_.clock, parts_.log) {}

void HealthReporter::follow(const UnhealthyDevices& devices) {
  const std::scoped_lock lock(mutex_);
  devices_ = devices;
}

void HealthReporter::look(const cluster::Call& call) {
  UnhealthyDevices devices;
  {
    const std::scoped_lock lock(mutex_);
    devices = devices_;
  }
  HealthNotices::Holders holders;
  std::vector<cluster::Pod> pods;
  if (!devices.empty() && parts_.pods != nullptr) {
    if (auto listed = parts_.pod_resources.list()) holders = *std::move(listed);
    if (auto known = parts_.pods->all()) pods = *std::move(known);
  }
  events_.tell(notices_.tell(devices, holders, pods, parts_.clock.wall_now()), call);
}

}  // namespace tranche::agent
