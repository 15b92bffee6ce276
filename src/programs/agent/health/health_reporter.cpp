#include "agent/health/health_reporter.h"

#include <utility>

#include "holdings/users.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kYoung{2};  // accepted age of kubelet's answer

}  // namespace

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
  events_.tell(notices_.tell(devices, ask(devices), parts_.clock.wall_now()), call);
}

// Who holds what; nullopt: unknown now.
HealthNotices::Known HealthReporter::ask(const UnhealthyDevices& devices) {
  if (parts_.pods == nullptr || (devices.empty() && !notices_.owes())) {
    return holdings::Holdings();
  }
  const auto pods = parts_.pods->all();
  if (!pods) return std::nullopt;
  if (!parts_.book.ask(parts_.holders, kYoung)) return std::nullopt;
  return holdings::with_users(parts_.book.all(), *pods);
}

}  // namespace tranche::agent
