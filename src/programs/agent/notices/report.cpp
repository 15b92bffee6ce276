#include "agent/notices/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "offer/mps.h"

namespace tranche::agent {
namespace {

using Lines = std::vector<ReportLine>;

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string size_of(const offer::ResourceOffer& resource) {
  auto text = fmt::format("{} on {}", counted(resource.tranches.size(), "tranche"),
                          counted(resource.devices.size(), "device"));
  if (resource.sharing != config::SharingStrategy::kNone) {
    text += fmt::format(" ({})", config::to_string(resource.sharing));
  }
  if (resource.limits) text += fmt::format(", limits {}", describe(resource.limits->rules));
  return text;
}

void describe_resources(const offer::Offer& before, const offer::Offer& after, Lines& lines) {
  for (const auto& now : after.resources) {
    const auto* then = before.find(now.name);
    if (then == nullptr) {
      lines.push_back({false, fmt::format("advertising {}: {}", now.name.value, size_of(now))});
    } else if (size_of(*then) != size_of(now)) {
      lines.push_back({false, fmt::format("advertising {}: {}, was {}", now.name.value,
                                          size_of(now), size_of(*then))});
    }
  }
  for (const auto& then : before.resources) {
    if (after.find(then.name) != nullptr) continue;
    lines.push_back({false, fmt::format("no longer advertising {}; Pods that hold it keep it",
                                        then.name.value)});
  }
}

std::map<std::string, std::string> health_by_device(const offer::Offer& offer) {
  std::map<std::string, std::string> health;
  for (const auto& resource : offer.resources) {
    for (const auto& device : resource.devices) health[device.uuid] = device.unhealthy_reason;
  }
  return health;
}

std::vector<std::string> devices_of(const offer::Offer& offer) {
  std::vector<std::string> uuids;
  for (const auto& resource : offer.resources) {
    for (const auto& device : resource.devices) uuids.push_back(device.uuid);
  }
  return uuids;
}

// In the order of the machine's devices.
void describe_health(const offer::Offer& before, const offer::Offer& after, Lines& lines) {
  const auto then = health_by_device(before);
  auto now = health_by_device(after);
  for (const auto& uuid : devices_of(after)) {
    const auto known = now.extract(uuid);
    if (known.empty()) continue;  // another resource's, too
    const auto& reason = known.mapped();
    const auto found = then.find(uuid);
    const std::string was = found == then.end() ? "" : found->second;
    if (reason == was) continue;
    if (reason.empty()) {
      lines.push_back({false, fmt::format("{} is healthy again", uuid)});
    } else {
      lines.push_back({true, fmt::format("{} is unhealthy: {}", uuid, reason)});
    }
  }
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

std::vector<ReportLine> describe_changes(const offer::Offer& before, const offer::Offer& after) {
  Lines lines;
  describe_resources(before, after, lines);
  describe_health(before, after, lines);
  for (const auto& withheld : after.withheld) {
    if (contains(before.withheld, withheld)) continue;
    lines.push_back({true, fmt::format("not advertising {}", offer::describe(withheld))});
  }
  for (const auto& warning : after.warnings) {
    if (!contains(before.warnings, warning)) lines.push_back({true, warning});
  }
  return lines;
}

std::vector<offer::GrantRecord> in_use(std::vector<offer::GrantRecord> grants,
                                       const std::vector<holdings::Holding>& held) {
  std::set<std::pair<std::string_view, std::string_view>> named;  // resource, id
  for (const auto& one : held) {
    if (!one.pod.empty()) named.emplace(one.resource.value, one.id);
  }
  std::erase_if(grants, [&](const offer::GrantRecord& record) {
    return std::ranges::none_of(record.grant.ids, [&](const std::string& id) {
      return named.contains({record.grant.resource.value, id});
    });
  });
  return grants;
}

std::string describe_orphans(const std::vector<offer::GrantRecord>& grants,
                             const offer::Offer& offer) {
  std::set<std::string> offered;
  for (const auto& resource : offer.resources) {
    for (const auto& tranche : resource.tranches) {
      offered.insert(resource.name.value + " " + tranche.id);
    }
  }
  std::vector<std::string> orphans;
  for (const auto& record : grants) {
    for (const auto& id : record.grant.ids) {
      if (!offered.contains(record.grant.resource.value + " " + id)) {
        orphans.push_back(fmt::format("{} of {}", id, record.grant.resource.value));
      }
    }
  }
  if (orphans.empty()) return {};
  return fmt::format("{} still granted and no longer offered: {}; the containers keep {}",
                     counted(orphans.size(), "tranche"), fmt::join(orphans, ", "),
                     orphans.size() == 1 ? "it" : "them");
}

std::string describe_unlimited(const std::vector<offer::GrantRecord>& grants,
                               const offer::Offer& offer) {
  std::vector<std::string> found;
  for (const auto& record : grants) {
    const auto* resource = offer.find(record.grant.resource);
    if (resource == nullptr || !resource->limits || !record.grant.tenant.empty()) {
      continue;
    }
    found.push_back(
        fmt::format("{} of {}", fmt::join(record.grant.ids, "+"), record.grant.resource.value));
  }
  if (found.empty()) return {};
  return fmt::format(
      "{} given out before there were limits, and not limited: {}; delete the Pods, so that new "
      "ones are",
      counted(found.size(), "grant"), fmt::join(found, ", "));
}

namespace {

std::string value_of(const offer::Grant& grant, const std::string& name) {
  const auto found = grant.envs.find(name);
  return found == grant.envs.end() ? std::string() : found->second;
}

constexpr const char* kMpsPipe = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* kMpsPartition = "CUDA_MPS_SM_PARTITION";

// What a grant of these ids would be given for MPS now.
offer::Grant given_now(const offer::ResourceOffer& resource, const std::vector<std::string>& ids) {
  offer::Grant now;
  offer::add_mps(resource, ids, {}, now);
  return now;
}

// Whether MPS no longer serves what `given` was granted for. `resource`: on offer now; nullptr:
// not.
bool leads_nowhere(const offer::Grant& given, const offer::ResourceOffer* resource) {
  if (resource == nullptr || resource->sharing != config::SharingStrategy::kMps) return true;
  const auto now = given_now(*resource, given.ids);
  if (value_of(given, kMpsPartition) != value_of(now, kMpsPartition)) return true;
  const auto before = value_of(given, kMpsPipe);
  const auto wanted = value_of(now, kMpsPipe);
  if (before == wanted) return false;
  // With namespaces, the default one always exists.
  const auto server = fmt::format("/pipe/{}/", offer::kMpsServer);
  return !before.ends_with(fmt::format("{}{}", server, offer::kMpsDefault)) ||
         wanted.find(server) == wanted.npos;
}

// A withheld resource may be served again, for example when its daemon answers.
bool is_withheld(const config::ResourceName& name, const offer::Offer& offer) {
  return std::ranges::find(offer.withheld, name, &offer::Withheld::name) != offer.withheld.end();
}

std::string named(const offer::Grant& grant) {
  return fmt::format("{} of {}", fmt::join(grant.ids, "+"), grant.resource.value);
}

}  // namespace

std::string describe_stale_mps(const std::vector<offer::GrantRecord>& grants,
                               const offer::Offer& offer) {
  std::vector<std::string> found;
  for (const auto& record : grants) {
    const offer::Grant& grant = record.grant;
    // A grant of time-slicing needs no server.
    if (value_of(grant, kMpsPipe).empty() || is_withheld(grant.resource, offer)) continue;
    if (leads_nowhere(grant, offer.find(grant.resource))) found.push_back(named(grant));
  }
  if (found.empty()) return {};
  return fmt::format(
      "{} given out for MPS as it is no longer served (another sharing or tranche.mps, or a daemon "
      "that was started anew): {}; their processes get no GPU: delete the Pods",
      counted(found.size(), "grant"), fmt::join(found, ", "));
}

std::string describe_before_mps(const std::vector<offer::GrantRecord>& grants,
                                const offer::Offer& offer) {
  std::vector<std::string> found;
  for (const auto& record : grants) {
    const auto* resource = offer.find(record.grant.resource);
    if (resource == nullptr || !value_of(record.grant, kMpsPipe).empty()) continue;
    const auto now = given_now(*resource, record.grant.ids);
    if (!value_of(now, kMpsPipe).empty()) found.push_back(named(record.grant));
  }
  if (found.empty()) return {};
  return fmt::format(
      "{} given out before MPS served its resource: {}; its processes are no clients of MPS, and "
      "the GPU takes no others: delete the Pods",
      counted(found.size(), "grant"), fmt::join(found, ", "));
}

std::string describe(const config::Limits& limits) {
  std::string text(to_string(limits.enforcement));
  if (!limits.on()) return text;
  text += fmt::format(": memory {}, compute {}", config::to_text(limits.memory),
                      config::to_text(limits.compute));
  if (limits.policy == config::SharePolicy::kPriority) {
    text += fmt::format(", priority {}", to_string(limits.priority));
  }
  if (limits.oversubscribe) text += ", oversubscribed";
  if (limits.wants_kernel()) text += ", memory by the kernel where it can";
  return text;
}

std::string describe_limits(const config::Config& config) {
  const auto& table = config.tranche.limits;
  if (!table.any_on()) {
    const bool sliced = config.sharing.strategy() == config::SharingStrategy::kTimeSlicing;
    return fmt::format(
        "limits: off, as with NVIDIA's plugin{}; tranche.limits sets them",
        sliced ? ": one container can take all of a shared GPU's memory and time" : "");
  }
  std::vector<std::string> parts;
  for (const auto& entry : table.resources) {
    parts.push_back(fmt::format("{} {}", entry.name.value, describe(entry.limits)));
  }
  parts.push_back(
      fmt::format("{} {}", parts.empty() ? "every resource" : "others", describe(table.general)));
  return fmt::format("limits: {}", fmt::join(parts, "; "));
}

}  // namespace tranche::agent
