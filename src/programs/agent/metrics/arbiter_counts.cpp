#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "agent/metrics/usage_row.h"

namespace tranche::agent {
namespace {

class ArbitersCounts {
 public:
  ArbitersCounts(const UsageRows& rows, const limit::ArbiterStatus& arbiter) {
    for (const auto& tenant : arbiter.tenants) tenants_.emplace(tenant.id, &tenant);
    for (const auto& [key, row] : rows) {
      for (const auto& tenant : row.tenants) {
        users_[tenant].insert({key.ns, key.pod, key.container});
      }
    }
  }

  void add(const std::string& id, const std::string& device, UsageRow& row) const {
    const auto tenant = tenants_.find(id);
    if (tenant == tenants_.end() || users_.at(id).size() != 1) return;
    const auto& devices = tenant->second->devices;
    const auto one =
        std::ranges::find(devices, device, [](const auto& of) { return of.limits.uuid; });
    if (one == devices.end()) return;
    auto& figures = row.made.figures;
    add_time(figures.compute, one->gpu_ns);
    add_time(figures.compute_asked, one->asked_ns);
    add_time(figures.waited, one->waited_ns);
    add_to(figures.launches, one->launches);
    // These are the tenant's, which may have several devices: they count once.
    const bool is_first = one == devices.begin();
    add_to(figures.allocation_failures, is_first ? tenant->second->refused : 0);
    if (row.is_read) return;
    figures.attributed = true;
    const auto kept = one->charged_bytes - std::min(one->charged_bytes, one->released_bytes);
    add_to(figures.memory_used, kept);
    add_to(figures.memory_used, one->outside_bytes);
    if (is_first) figures.processes = figures.processes.value_or(0) + tenant->second->processes;
  }

 private:
  std::map<std::string, const limit::TenantStatus*> tenants_;  // by id
  // Containers by tenant.
  std::map<std::string, std::set<std::tuple<std::string, std::string, std::string>>> users_;
};

}  // namespace

void add_to(std::optional<std::uint64_t>& sum, std::uint64_t more) {
  std::uint64_t all = 0;
  const bool is_too_much = __builtin_add_overflow(sum.value_or(0), more, &all);
  sum = is_too_much ? std::numeric_limits<std::uint64_t>::max() : all;
}

void add_time(std::optional<std::chrono::nanoseconds>& sum, std::uint64_t ns) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  std::optional<std::uint64_t> all = sum ? static_cast<std::uint64_t>(sum->count()) : 0;
  add_to(all, ns);
  sum = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(*all, kMost)));
}

void add_arbiters_counts(UsageRows& rows, const limit::ArbiterStatus* arbiter) {
  if (arbiter == nullptr) return;
  const ArbitersCounts counts(rows, *arbiter);
  for (auto& [key, row] : rows) {
    for (const auto& id : row.tenants) counts.add(id, key.device, row);
  }
}

}  // namespace tranche::agent
