#include "agent/withholding/held_notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "agent/config/mode_standing.h"
#include "agent/withholding/held_standing.h"
#include "cluster/formats/reasons.h"
#include "holdings/holdings.h"
#include "offer/withholding.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kAsNvidia =
    "tranche.onChange is asNvidia: a GPU that containers hold is handed out anew as soon as the "
    "configuration promises it otherwise, though they still use it";
constexpr std::size_t kMostDevices = 8;

std::string joined(const std::vector<std::string>& lines) {
  auto shown = std::vector(lines.begin(),
                           lines.begin() + std::ptrdiff_t(std::min(lines.size(), kMostDevices)));
  auto text = fmt::format("{}", fmt::join(shown, "; "));
  if (lines.size() > shown.size())
    text += fmt::format("; and {} more", lines.size() - shown.size());
  return text;
}

ConditionReport devices_free_condition(const std::map<std::string, std::string>& held) {
  std::vector<std::string> lines;
  for (const auto& [device, text] : held) lines.push_back(text);
  const bool free = lines.empty();
  return {.type = kDevicesFreeCondition,
          .good = free,
          .reason = free ? cluster::reason::kDevicesFree : cluster::reason::kDevicesHeld,
          .message = free ? "no device is held under another promise than it is offered for"
                          : joined(lines),
          .action = "Advertise",
          .written_while_good = false,
          .as_event = false};
}

}  // namespace

Result<void> HeldNotices::follow(const Round& round) {
  say_what_is_in_force(round.state);
  const auto held = lines_of(round);
  const auto& standing = round.state.get<HeldStanding>();
  const bool kubelet_knows = !round.offer->held.empty() || !standing.at_odds.empty();
  if (kubelet_knows && !standing.asked) return {};
  tell_held(held);
  tell_free(held);
  if (report_) report_(devices_free_condition(held));
  return {};
}

// Kubelet's capacity keeps what the mode before offered, and its allocatable loses it.
std::vector<holdings::Holding> HeldNotices::of_the_other_mode(const State& state) const {
  const auto& node = state.get<NodeModeStanding>();
  if (node.undecided) return {};
  if (node.mode == cluster::NodeMode::kDra) return state.get<HeldStanding>().at_odds;
  return claimed_ ? claimed_().value_or(std::vector<holdings::Holding>())
                  : std::vector<holdings::Holding>();
}

HeldNotices::Lines HeldNotices::lines_of(const Round& round) const {
  Lines lines;
  for (const auto& device : round.offer->held) lines[device.uuid] = offer::describe(device);
  const auto mode = cluster::name_of(round.state.get<NodeModeStanding>().mode);
  std::map<std::string, std::vector<holdings::Holding>> others;
  for (auto& one : of_the_other_mode(round.state)) others[one.device].push_back(std::move(one));
  for (const auto& [device, holders] : others) {
    lines[device] = fmt::format("{} is held as before this node was in mode {} ({}): by {}", device,
                                mode, cluster::kModeLabel, holdings::describe_holders(holders));
  }
  return lines;
}

void HeldNotices::say_what_is_in_force(const State& state) {
  const bool as_nvidia = state.config.tranche.on_change == config::OnChange::kAsNvidia;
  if (said_.is_news("mode", as_nvidia ? kAsNvidia : "")) log_.warn(kAsNvidia);
  const auto& trouble = state.get<HeldStanding>().trouble;
  if (said_.is_news("trouble", trouble)) log_.warn(trouble);
}

// An Event for each newly withheld device; the log has each change.
void HeldNotices::tell_held(const Lines& held) {
  std::vector<std::string> fresh;
  for (const auto& [device, text] : held) {
    const auto known = told_.find(device);
    if (known == told_.end()) fresh.push_back(text);
    if (known == told_.end() || known->second != text) {
      log_.warn(fmt::format("{}; it is handed out when they have ended", text));
    }
    told_.insert_or_assign(device, text);
  }
  if (fresh.empty() || !tell_) return;
  tell_({.warning = true,
         .reason = cluster::reason::kDevicesHeld,
         .action = "Advertise",
         .note = fmt::format("{}; handed out when they have ended", joined(fresh))});
}

void HeldNotices::tell_free(const Lines& held) {
  std::vector<std::string> free;
  std::erase_if(told_, [&](const auto& told) {
    const bool is_held = held.contains(told.first);
    if (!is_held) free.push_back(told.first);
    return !is_held;
  });
  if (free.empty()) return;
  const auto text = fmt::format("{} {} free: the containers that held {} have ended", joined(free),
                                free.size() == 1 ? "is" : "are", free.size() == 1 ? "it" : "them");
  log_.info(text);
  if (!tell_) return;
  tell_({.warning = false,
         .reason = cluster::reason::kDevicesFree,
         .action = "Advertise",
         .note = text});
}

}  // namespace tranche::agent
