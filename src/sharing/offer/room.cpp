#include "offer/room.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "offer/limits.h"

namespace tranche::offer {
namespace {

constexpr std::uint32_t kAll = 1000;  // permille

// What the tenants of these holdings keep together.
Kept kept_by(std::span<const holdings::Holding* const> held, Bytes whole) {
  Kept sum;
  std::set<std::string_view> tenants;
  for (const holdings::Holding* one : held) {
    if (!one->part || !tenants.insert(one->tenant).second) continue;
    sum.add(*one->part, whole);
  }
  return sum;
}

std::uint64_t left(std::uint64_t whole, std::uint64_t kept) {
  return whole - std::min(whole, kept);
}

// How often `part` fits into what `kept` leaves of `whole`.
std::size_t times(std::uint64_t part, std::uint64_t whole, std::uint64_t kept) {
  return left(whole, kept) / part;
}

}  // namespace

void Kept::add(const DeviceLimits& part, Bytes whole) {
  const auto its_weight = std::min(part.weight, kAll);
  const auto by_weight = Bytes{whole.value / kAll * its_weight};
  memory += std::min(whole, part.memory.value_or(by_weight)).value;
  permille += part.permille.value_or(its_weight);
}

Room room_of(const ResourceOffer& offer, std::size_t device) {
  const auto of_device = [&](const Tranche& tranche) { return tranche.device == device; };
  Room room;
  room.tranches = static_cast<std::size_t>(std::ranges::count_if(offer.tranches, of_device));
  if (room.tranches == 0 || !offer.limits || offer.limits->rules.oversubscribe) return room;
  const auto first = std::ranges::find_if(offer.tranches, of_device);
  const auto limits = limits_for(offer, std::span(&first->id, 1));
  if (!limits) return room;
  const auto part = enforced_part(*limits, offer.devices[device].uuid);
  if (!part) return room;
  room.whole = offer.devices[device].memory;
  if (room.whole.value > 0) room.memory = part->memory;
  room.permille = part->permille;
  return room;
}

std::size_t tranches_next_to(const Room& room, std::span<const holdings::Holding* const> others) {
  std::size_t most = room.tranches - std::min(room.tranches, others.size());
  const auto kept = kept_by(others, room.whole);
  if (room.memory && room.memory->value > 0) {
    most = std::min(most, times(room.memory->value, room.whole.value, kept.memory));
  }
  if (room.permille && *room.permille > 0) {
    most = std::min(most, times(*room.permille, kAll, kept.permille));
  }
  return most;
}

DeviceLimits as_far_as_it_fits(const DeviceLimits& now, DeviceLimits wanted,
                               std::span<const DeviceLimits> others, Bytes whole) {
  Kept kept;
  for (const auto& part : others) kept.add(part, whole);
  const bool more_memory = now.memory && (!wanted.memory || *wanted.memory > *now.memory);
  if (more_memory && wanted.memory.value_or(whole).value > left(whole.value, kept.memory)) {
    if (!wanted.memory) wanted.enforcer = now.enforcer;
    wanted.memory = now.memory;
  }
  // Without a cap only the weight is promised, except of all tranches together.
  const auto time = wanted.permille.value_or(wanted.weight >= kAll ? kAll : 0);
  if (now.permille && time > *now.permille && time > left(kAll, kept.permille)) {
    wanted.permille = now.permille;
    wanted.weight = now.weight;
  }
  return wanted;
}

}  // namespace tranche::offer
