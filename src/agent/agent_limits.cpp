// What an agent does about limits: offers only what it can limit, has running containers follow,
// and tells what does not work.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/agent.h"
#include "agent/report.h"

namespace tranche::agent {

// What has limits is only offered where containers can be limited: never a silent whole GPU.
void Agent::keep_promises(offer::Offer& offer) {
  facts_.limits.reset();
  const auto limited = [](const offer::ResourceOffer& resource) {
    return resource.limits.has_value();
  };
  if (std::ranges::none_of(offer.resources, limited)) {
    limits_complaint_.clear();
    return;
  }
  auto mounts = limits_ ? limits_->prepare()
                        : fail(Code::kFailedPrecondition, "there is no state folder",
                               "mount a writable folder at --state-dir");
  if (!mounts) {
    const auto error = std::move(mounts).error().with_context("its limits cannot be kept");
    limits_complaint_ = error.message();
    offer::withhold_limited(offer, limits_complaint_);
    return;
  }
  facts_.limits = *std::move(mounts);
  limits_complaint_.clear();
  if (std::ranges::none_of(offer.resources, offer::has_runtime_hook)) return;
  if (auto hook = limits_->prepare_hook(); !hook) {
    const auto error = std::move(hook).error().with_context("the runtime's hook cannot be given");
    limits_complaint_ = error.message();
    offer::withhold_hooked(offer, limits_complaint_);
  }
}

// After a change: running containers get what is promised now.
void Agent::follow_limits(const offer::Offer& offer) {
  if (!limits_) return;
  limits_->follow(offer);
  const auto line = describe_unlimited(grants_->all(), offer);
  if (!line.empty() && line != unlimited_said_) {
    ports_.log.warn(line);
    if (ports_.tell) {
      ports_.tell({.warning = true, .reason = "NotLimited", .action = "Limit", .note = line});
    }
  }
  unlimited_said_ = line;
}

// The controller evicts, and only where there is one that does.
void Agent::follow_evictions(const offer::Offer& offer) {
  auto policy = evict_policy(offer);
  const bool nobody = !policy.empty() && !(ports_.evict && settings_.options.ask_evictions &&
                                           !settings_.options.arbiter_state_dir.empty());
  if (nobody && !nobody_evicts_said_) {
    ports_.log.warn(
        fmt::format("{}: the configuration says unregistered: evict, and no controller that evicts "
                    "is known here, so such containers are reported and not evicted; set "
                    "limits.evict=true in the chart's values, or write unregistered: event",
                    fmt::join(policy.resources, ", ")));
  }
  nobody_evicts_said_ = nobody;
  if (ports_.evict) ports_.evict(std::move(policy));
}

// What the log says of resources newly not advertised, for `kubectl describe node`.
void Agent::tell_withheld(const offer::Offer& offer) const {
  if (!ports_.tell) return;
  const auto& known = carried_ ? carried_->offer.withheld : std::vector<offer::Withheld>();
  std::vector<std::string> lines;
  for (const auto& withheld : offer.withheld) {
    if (std::ranges::find(known, withheld) != known.end()) continue;
    lines.push_back(fmt::format("not advertising {}: {}", withheld.name.value, withheld.reason));
  }
  if (lines.empty()) return;
  ports_.tell({.warning = true,
               .reason = "ResourceWithheld",
               .action = "Advertise",
               .note = fmt::format("{}", fmt::join(lines, "; "))});
}

// What newly keeps memory instead of the kernel (the log has it as a warning of the offer).
void Agent::tell_enforcers(const offer::Offer& offer) const {
  if (!ports_.tell) return;
  std::vector<std::string> lines;
  for (const auto& resource : offer.resources) {
    if (!resource.limits || resource.limits->instead.empty()) continue;
    const auto* before = carried_ ? carried_->offer.find(resource.name) : nullptr;
    if (before != nullptr && before->limits &&
        before->limits->instead == resource.limits->instead) {
      continue;
    }
    lines.push_back(resource.limits->instead);
  }
  if (lines.empty()) return;
  ports_.tell({.warning = true,
               .reason = "NoKernelLimits",
               .action = "Limit",
               .note = fmt::format("{}", fmt::join(lines, "; "))});
}

}  // namespace tranche::agent
