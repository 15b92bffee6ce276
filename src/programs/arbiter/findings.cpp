#include "arbiter/findings.h"

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "fmt/format.h"
#include "host/process.h"

namespace tranche::arbiter {

using limit::Finding;

namespace {

// What the findings of one tenant, or one Pod, on a device have in common.
std::string group_of(const Finding& finding) {
  const auto pod = host::pod_process(finding.cgroup);
  return fmt::format("{} {} {}", to_string(finding.kind), finding.device,
                     !finding.tenant.empty() ? finding.tenant
                     : pod                   ? pod->pod_uid
                                             : "");
}

}  // namespace

void Findings::take(const std::string& device, std::vector<Finding> strays) {
  told_.tell();
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
  std::map<std::string, std::size_t> groups;
  for (const auto& [key, entry] : entries_) {
    if (!is_due(entry) || ++groups[group_of(entry.finding)] > kMostOfOne) continue;
    result.push_back(entry.finding);
  }
  return result;
}

void Findings::tell(const Finding& finding) {
  const auto what = [&]() -> std::string {
    switch (finding.kind) {
      case Finding::Kind::kUnregistered:
        return fmt::format(
            "has not registered for tenant {}: no share of compute holds it, its memory counts for "
            "that tenant",
            finding.tenant);
      case Finding::Kind::kNoGrant:
        return "was not granted it: no share of compute holds it and no limit of memory";
      case Finding::Kind::kUnderReported:
        return fmt::format(
            "tells less GPU time than NVML counts of its tenant {}, which is charged the rest",
            finding.tenant);
      case Finding::Kind::kForgedCharge:
        return fmt::format(
            "charges a number of bytes that nobody can hold: its memory counts for tenant {} by "
            "NVML alone, and that tenant gets no more while the number stands",
            finding.tenant);
      case Finding::Kind::kForeignUsageFile:
      case Finding::Kind::kImagePreload:
      case Finding::Kind::kKernelLimitChanged:
        break;  // not of a device; logged where it is found
    }
    return "";
  }();
  const auto memory = finding.memory_bytes ? fmt::format("{} MiB", *finding.memory_bytes >> 20U)
                                           : std::string("memory that the driver does not tell");
  told_.warn(group_of(finding),
             fmt::format("process {} ({}) of {} holds {} of {} and {}; see docs/limits.md, \"What "
                         "it finds\"",
                         finding.pid, printable(finding.name), printable(finding.cgroup), memory,
                         finding.device, what));
}

}  // namespace tranche::arbiter
