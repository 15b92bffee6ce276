#include "incidents/incident_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/amounts.h"
#include "base/printable.h"

namespace tranche::incidents {
namespace {

std::string seconds_words(std::uint64_t ms) {
  if (ms < 1000) return "less than 1 s";
  return fmt::format("{} s", ms / 1000);
}

// A neighbour's growth counts as a cause if it is at least this part of what was asked.
constexpr std::uint64_t kPartOfAsked = 8;

bool may_blame(const Incident& incident, const Holder& holder) {
  return holder.tenant != incident.tenant && holder.growth.bytes > 0 &&
         holder.growth.bytes >= incident.asked_bytes.value_or(0) / kPartOfAsked;
}

// The neighbour that grew most, whatever the cause.
const Holder* grower(const Incident& incident) {
  const auto found = std::ranges::find_if(
      incident.holders, [&](const Holder& holder) { return may_blame(incident, holder); });
  return found == incident.holders.end() ? nullptr : &*found;
}

std::string neighbour_words(const Incident& incident, std::string_view reader) {
  const Holder* const holder = grower(incident);
  if (holder == nullptr) return "";
  return fmt::format("; {} before, {} took {}", seconds_words(holder->growth.before_ms),
                     name_words(*holder, reader), size_text(holder->growth.bytes));
}

std::string held_words(const Incident& incident) {
  const Holder* const victim = incident.victim();
  std::string words = victim != nullptr && victim->limit_bytes
                          ? ", limit " + size_text(*victim->limit_bytes)
                          : ", no limit";
  if (incident.held_bytes) words += ", used " + size_text(*incident.held_bytes);
  return words;
}

std::string refusal_words(const Incident& incident) {
  const auto asked =
      incident.asked_bytes ? size_text(*incident.asked_bytes) : std::string("more memory");
  return fmt::format("asked {}{}{}", asked, held_words(incident),
                     incident.times > 1 ? fmt::format(" ({} times)", incident.times) : "");
}

std::string full_words(const Incident& incident) {
  std::uint64_t held = incident.others_bytes;
  for (const Holder& holder : incident.holders) {
    if (holder.tenant != incident.tenant) held += holder.held_bytes.value_or(0);
  }
  return fmt::format(": within its limit, but the GPU is full; others hold {} of it",
                     size_text(held));
}

}  // namespace

std::string name_words(const Holder& holder, std::string_view reader) {
  const PodName& pod = holder.pod;
  if (pod.pod.empty()) {
    if (reader != kSeesAll) return "another container";
    return holder.tenant.empty() ? "an unknown container"
                                 : fmt::format("tenant {}", printable(holder.tenant));
  }
  if (reader != kSeesAll && pod.ns != reader) return "a Pod of another namespace";
  return fmt::format(
      "Pod {}/{}{}", printable(pod.ns), printable(pod.pod),
      pod.container.empty() ? "" : fmt::format(", container {}", printable(pod.container)));
}

std::vector<const Holder*> culprits(const Incident& incident) {
  constexpr std::size_t kMost = 4;
  std::vector<const Holder*> found;
  if (incident.cause != Cause::kDevice) return found;
  for (const Holder& holder : incident.holders) {
    if (found.size() < kMost && may_blame(incident, holder)) found.push_back(&holder);
  }
  return found;
}

std::string victim_words(const Incident& incident, std::string_view reader) {
  const auto stalled = seconds_words(incident.stalled_ms);
  switch (incident.cause) {
    case Cause::kLimit:
      return refusal_words(incident) + neighbour_words(incident, reader);
    case Cause::kDevice:
      return refusal_words(incident) + full_words(incident) + neighbour_words(incident, reader);
    case Cause::kStarved:
      return fmt::format("waited {} for the GPU and got no time, while others of {} did", stalled,
                         printable(incident.device));
    case Cause::kLongLaunch:
      return fmt::format(
          "what it launched {} ago on {} has not ended: a long kernel, one that hangs, or the "
          "program is stopped",
          stalled, printable(incident.device));
    case Cause::kXid:
      break;
  }
  return fmt::format("{} reported XID {}", printable(incident.device), incident.xid);
}

std::string holder_words(const Incident& incident, const Holder& holder, std::string_view reader) {
  if (incident.cause == Cause::kXid) {
    const auto held = holder.held_bytes
                          ? fmt::format(", and held {}", size_text(*holder.held_bytes))
                          : std::string();
    return fmt::format("{} reported XID {} while this container had a part of it{}",
                       printable(incident.device), incident.xid, held);
  }
  const Holder* const victim = incident.victim();
  return fmt::format("took {}; {} later {} was refused {}", size_text(holder.growth.bytes),
                     seconds_words(holder.growth.before_ms),
                     victim == nullptr ? "another container" : name_words(*victim, reader),
                     incident.asked_bytes ? size_text(*incident.asked_bytes) : "memory");
}

}  // namespace tranche::incidents
