#include "agent/notices/notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_mps.h"
#include "agent/dra/claim_standing.h"
#include "agent/hardware/leaving.h"
#include "agent/mps/mps_standing.h"
#include "agent/plugins/driver_standing.h"
#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace

Result<void> ChangeLog::follow(const Round& round) {
  for (const auto& line : describe_changes(told_ ? *told_ : offer::Offer(), *round.offer)) {
    log_.write(line.degraded ? LogLevel::kWarn : LogLevel::kInfo, line.text);
  }
  told_ = round.offer;
  return {};
}

Result<void> Notices::follow(const Round& round) {
  if (grants_) say_of_grants(*round.offer);
  tell_withheld(*round.offer);
  tell_enforcers(*round.offer);
  tell_driver(round.state);
  tell_mps(round);
  tell_claims(round.state);
  told_ = round.offer;
  return {};
}

void Notices::tick(TimePoint now) {
  if (!grants_ || !told_ || now - looked_ < kLook) return;
  looked_ = now;
  say_of_grants(*told_);
}

// Warns about running containers whose grants the offer no longer has.
void Notices::say_of_grants(const offer::Offer& offer) {
  const auto grants = grants_();
  const auto orphans = describe_orphans(grants, offer);
  if (said_.is_news("orphans", orphans)) log_.info(orphans);
  say_and_tell("stale MPS", cluster::reason::kMpsGrantStale, "Advertise",
               describe_stale_mps(grants, offer));
  say_and_tell("before MPS", cluster::reason::kGrantBeforeMps, "Advertise",
               describe_before_mps(grants, offer));
  say_and_tell("unlimited", cluster::reason::kNotLimited, "Limit",
               describe_unlimited(grants, offer));
}

// In the log, and as an Event of the Node, if the line is new.
void Notices::say_and_tell(const std::string& topic, const char* reason, const char* action,
                           const std::string& line) {
  if (!said_.is_news(topic, line)) return;
  log_.warn(line);
  tell({.warning = true, .reason = reason, .action = action, .note = line});
}

// If they were missing from the beginning, nothing is advertised, and that is reported.
void Notices::tell_driver(const State& state) {
  const auto& driver = state.get<DriverStanding>();
  const bool gone = state.config.uses_cdi() && driver.trouble && driver.were_there;
  say_and_tell("driver", cluster::reason::kResourceWithheld, "Advertise",
               gone
                   ? fmt::format("the driver's files are gone, so the GPUs are unhealthy and their "
                                 "CDI files are removed until they are there again: {}",
                                 driver.trouble->message())
                   : "");
}

void Notices::tell(const NodeNotice& notice) const {
  if (tell_) tell_(notice);
}

// Reports newly withheld resources as an Event, for `kubectl describe node`. The log has them
// already.
void Notices::tell_withheld(const offer::Offer& offer) const {
  const auto known = told_ ? told_->withheld : std::vector<offer::Withheld>();
  std::vector<std::string> lines;
  for (const auto& withheld : offer.withheld) {
    if (std::ranges::find(known, withheld) != known.end()) continue;
    lines.push_back(fmt::format("not advertising {}", offer::describe(withheld)));
  }
  if (lines.empty()) return;
  tell({.warning = true,
        .reason = cluster::reason::kResourceWithheld,
        .action = "Advertise",
        .note = joined(lines)});
}

// Reports as an Event which enforcer now keeps memory instead of the kernel. The log has it as a
// warning of the offer.
void Notices::tell_enforcers(const offer::Offer& offer) const {
  std::vector<std::string> lines;
  for (const auto& resource : offer.resources) {
    if (!resource.limits || resource.limits->instead.empty()) continue;
    const auto* before = told_ ? told_->find(resource.name) : nullptr;
    if (before != nullptr && before->limits &&
        before->limits->instead == resource.limits->instead) {
      continue;
    }
    lines.push_back(resource.limits->instead);
  }
  if (lines.empty()) return;
  tell({.warning = true,
        .reason = cluster::reason::kNoKernelLimits,
        .action = "Limit",
        .note = joined(lines)});
}

// Reports control daemons that have gone. One that has not served yet is reported as a withheld
// resource.
void Notices::tell_mps(const Round& round) {
  const auto& standings = round.state.get<MpsStandings>();
  said_of_mps_.retain([&](const std::string& resource) { return standings.contains({resource}); });
  for (const auto& [name, standing] : standings) {
    // What ends for a change of the MIG layout is announced with the change.
    if (round.state.get<MigStanding>().mps.contains(name.value)) continue;
    const bool is_offered = round.offer->find(name) != nullptr;
    if (!said_of_mps_.is_news(name.value, is_offered ? standing.trouble : "")) continue;
    tell(
        {.warning = true,
         .reason = cluster::reason::kMpsDaemonGone,
         .action = "Advertise",
         .note = fmt::format("{} is unhealthy: {}; {}", name.value, standing.trouble, kMpsRemedy)});
  }
}

// Why claims do not work as the administrator asked. The log has the label's trouble already.
void Notices::tell_claims(const State& state) {
  const auto& node = state.get<NodeModeStanding>();
  const auto& claims = state.get<ClaimStanding>();
  if (said_.is_news("mode", node.label_trouble)) {
    tell({.warning = true,
          .reason = cluster::reason::kNodeModeUnknown,
          .action = "Advertise",
          .note = node.label_trouble});
  }
  const bool serves = node.mode == cluster::NodeMode::kDra && !node.undecided;
  say_and_tell("kernel for claims", cluster::reason::kNoKernelLimits, "Limit",
               serves ? claims.enforcers.instead : std::string());
  const auto held = claims.held.value_or(std::vector<holdings::Holding>());
  say_and_tell("claims before MPS", cluster::reason::kGrantBeforeMps, "Publish",
               describe_before_mps(held, claims.enforcers));
  say_and_tell("claims after MPS", cluster::reason::kMpsGrantStale, "Publish",
               describe_after_mps(held, claims.enforcers));
  say_and_tell("gates", cluster::reason::kFeatureGatesOff, "Publish", claims.gates_off);
}

}  // namespace tranche::agent
