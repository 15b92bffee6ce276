#include "arbiter/findings.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"

namespace tranche::arbiter {

using limit::Finding;

void Findings::take(const std::string& device, std::vector<Finding> strays) {
  std::set<Key> there;
  for (Finding& stray : strays) {
    const Key key{device, stray.pid, stray.start_time};
    there.insert(key);
    const auto [entry, is_new] = entries_.try_emplace(key);
    stray.since = is_new ? clock_.wall_now() : entry->second.finding.since;
    if (is_new) entry->second.seen = clock_.now();
    entry->second.finding = std::move(stray);
    if (entry->second.told || !is_due(entry->second)) continue;
    entry->second.told = true;
    tell(entry->second.finding);
  }
  std::erase_if(entries_, [&](const auto& entry) {
    return entry.first.device == device && !there.contains(entry.first);
  });
}

void Findings::keep_only(const std::vector<std::string>& devices) {
  std::erase_if(entries_, [&](const auto& entry) {
    return std::ranges::find(devices, entry.first.device) == devices.end();
  });
}

std::vector<Finding> Findings::current() const {
  std::vector<Finding> result;
  for (const auto& [key, entry] : entries_) {
    if (is_due(entry)) result.push_back(entry.finding);
  }
  return result;
}

void Findings::tell(const Finding& finding) const {
  const auto memory = finding.memory_bytes ? fmt::format("{} MiB", *finding.memory_bytes >> 20U)
                                           : std::string("memory that the driver does not tell");
  const bool is_tenant = finding.kind == Finding::Kind::kUnregistered;
  log_.warn(fmt::format(
      "process {} ({}) of {} holds {} of {} and {}: no share of compute holds it{}; see "
      "docs/arbiter.md, \"What it finds\"",
      finding.pid, finding.name, finding.cgroup, memory, finding.device,
      is_tenant ? fmt::format("has not registered for tenant {}", finding.tenant)
                : std::string("was not granted it"),
      is_tenant ? ", its memory counts for that tenant" : " and no limit of memory"));
}

}  // namespace tranche::arbiter
