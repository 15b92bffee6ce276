#include "incidents/incident.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace tranche::incidents {
namespace {

constexpr std::array kCauses{
    std::pair{Cause::kLimit, std::string_view("limit")},
    std::pair{Cause::kDevice, std::string_view("device")},
    std::pair{Cause::kStarved, std::string_view("starved")},
    std::pair{Cause::kLongLaunch, std::string_view("long-launch")},
    std::pair{Cause::kXid, std::string_view("xid")},
};
constexpr std::size_t kLongestId = 64;

// "20261128-154301"
std::string stamp(cluster::WallTime at) {
  auto text = cluster::whole_second_time(at);  // 2026-11-28T15:43:01Z
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::ranges::replace(text, 'T', '-');
  return text;
}

}  // namespace

const Holder* Incident::victim() const {
  if (tenant.empty()) return nullptr;
  const auto found = std::ranges::find(holders, tenant, &Holder::tenant);
  return found == holders.end() ? nullptr : &*found;
}

std::string_view to_string(Cause cause) {
  for (const auto& [known, word] : kCauses) {
    if (known == cause) return word;
  }
  return "?";
}

std::optional<Cause> cause_of(std::string_view word) {
  for (const auto& [cause, known] : kCauses) {
    if (known == word) return cause;
  }
  return std::nullopt;
}

bool is_out_of_memory(Cause cause) { return cause == Cause::kLimit || cause == Cause::kDevice; }

std::string_view kind_of(Cause cause) {
  if (cause == Cause::kXid) return "xid";
  return is_out_of_memory(cause) ? "out-of-memory" : "stall";
}

bool is_id(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !text.empty() && text.size() <= kLongestId && text.front() != '-' &&
         std::ranges::all_of(text, allowed);
}

std::string make_id(cluster::WallTime at, Cause cause, unsigned number) {
  const auto name = fmt::format("{}-{}", stamp(at), to_string(cause));
  return number == 0 ? name : fmt::format("{}-{}", name, number);
}

void put_in_order(Incident& incident) {
  auto& holders = incident.holders;
  const auto rank = [&](const Holder& holder) {
    return std::tuple(incident.tenant.empty() || holder.tenant != incident.tenant,
                      ~holder.growth.bytes, ~holder.held_bytes.value_or(0), holder.tenant);
  };
  std::ranges::stable_sort(holders, {}, rank);
  if (holders.size() <= Incident::kMostHolders) return;
  incident.left_out += static_cast<unsigned>(holders.size() - Incident::kMostHolders);
  holders.resize(Incident::kMostHolders);
}

}  // namespace tranche::incidents
