#pragma once
// How many tranches of a shared device may be held beside what containers of other resources keep
// of it. Their limits no longer follow the offer: they keep the part of memory and time that they
// have. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"
#include "offer/offer.h"

namespace tranche::offer {

// What a device of an offer has to give.
struct Room {
  std::size_t tranches = 0;
  Bytes whole{};                            // the device's memory
  std::optional<Bytes> memory{};            // of a tranche; nullopt: it does not have to add up
  std::optional<std::uint32_t> permille{};  // of the device's time, of a tranche; nullopt: as above
  bool operator==(const Room&) const = default;
};

// `device`: an index of ResourceOffer::devices.
Room room_of(const ResourceOffer& offer, std::size_t device);

// How many tranches may be held beside `others`, promises of the device by other resources. Each of
// them takes a tranche. Where their parts (Promise::part) are larger than tranches, they take as
// many more as it needs, in memory and in time.
std::size_t tranches_beside(const Room& room, std::span<const Promise* const> others);

}  // namespace tranche::offer
