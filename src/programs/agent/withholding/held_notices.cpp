#include "agent/withholding/held_notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "agent/withholding/held_standing.h"
#include "cluster/formats/reasons.h"
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

}  // namespace

Result<void> HeldNotices::follow(const Round& round) {
  say_what_is_in_force(round.state);
  const auto& held = round.offer->held;
  if (!held.empty() && !round.state.get<HeldStanding>().asked) return {};
  tell_held(*round.offer);
  tell_free(*round.offer);
  if (report_) report_(devices_free_condition(*round.offer));
  return {};
}

void HeldNotices::say_what_is_in_force(const State& state) {
  const bool as_nvidia = state.config.tranche.on_change == config::OnChange::kAsNvidia;
  if (said_.is_news("mode", as_nvidia ? kAsNvidia : "")) log_.warn(kAsNvidia);
  const auto& trouble = state.get<HeldStanding>().trouble;
  if (said_.is_news("trouble", trouble)) log_.warn(trouble);
}

// An Event for each newly withheld device; the log has each change.
void HeldNotices::tell_held(const offer::Offer& offer) {
  std::vector<std::string> fresh;
  for (const auto& device : offer.held) {
    const auto text = offer::describe(device);
    const auto known = told_.find(device.uuid);
    if (known == told_.end()) fresh.push_back(text);
    if (known == told_.end() || known->second != text) {
      log_.warn(fmt::format("{}; it is handed out when they have ended", text));
    }
    told_.insert_or_assign(device.uuid, text);
  }
  if (fresh.empty() || !tell_) return;
  tell_({.warning = true,
         .reason = cluster::reason::kDevicesHeld,
         .action = "Advertise",
         .note = fmt::format("{}; handed out when they have ended", joined(fresh))});
}

void HeldNotices::tell_free(const offer::Offer& offer) {
  std::vector<std::string> free;
  std::erase_if(told_, [&](const auto& told) {
    const bool held =
        std::ranges::find(offer.held, told.first, &offer::HeldDevice::uuid) != offer.held.end();
    if (!held) free.push_back(told.first);
    return !held;
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

ConditionReport devices_free_condition(const offer::Offer& offer) {
  std::vector<std::string> lines;
  for (const auto& device : offer.held) lines.push_back(offer::describe(device));
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

}  // namespace tranche::agent
