#include "arbiter/extension.h"

#include <algorithm>

namespace tranche::arbiter {

bool Extensions::may_answer(const TenantSession& session, const tenant::ProcessId& process) {
  bool may = true;
  for (const auto& one : all_) may &= one->may_answer(session, process);
  return may;
}

void Extensions::saw(const TenantSession& session, const tenant::ProcessId& process) {
  for (const auto& one : all_) one->saw(session, process);
}

std::optional<std::string> Extensions::outcome(const TenantSession& session,
                                               const tenant::ProcessId& process) const {
  for (const DeviceLimits& device : session.limits().devices) {
    if (device.enforcer != MemoryEnforcer::kKernel || is_provided(device.enforcer)) continue;
    return "the arbiter has no driver to limit anybody by";
  }
  for (const auto& one : all_) {
    auto outcome = one->outcome(session, process);
    if (!outcome || !outcome->empty()) return outcome;
  }
  return "";
}

void Extensions::settled() {
  for (const auto& one : all_) one->on_settled();
}

void Extensions::look() {
  for (const auto& one : all_) one->look();
}

void Extensions::describe(limit::ArbiterStatus& status) const {
  for (const auto& one : all_) one->describe(status);
}

bool Extensions::is_provided(MemoryEnforcer enforcer) const {
  return std::ranges::any_of(all_, [&](const auto& one) { return one->enforcer() == enforcer; });
}

}  // namespace tranche::arbiter
