#pragma once
// How many tranches of a shared device may be held beside what containers of other resources keep
// of it, and how far a container may be raised beside what the others have. The limits of some no
// longer follow the offer: they keep the part of memory and time that they have. Pure.

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

// How many tranches may be held beside `others`, holdings of the device by other resources. Each of
// them takes a tranche. Where their parts (Holding::part) are larger than tranches, they take as
// many more as it needs, in memory and in time.
std::size_t tranches_beside(const Room& room, std::span<const holdings::Holding* const> others);

// What containers have of a device together.
struct Kept {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t permille = 0;

  // Without a limit, a part of a device of `whole` bytes counts by its weight: a container that
  // held all tranches of the device has no limit, and its weight is the whole.
  void add(const DeviceLimits& part, Bytes whole);
};

// What a container that has `now` of a device of `whole` bytes gets when it should have `wanted`:
// less at once, more only where it fits beside `others`, the parts of all its other holders. Memory
// and time each by itself; where one does not fit, it stays as it is.
DeviceLimits as_far_as_it_fits(const DeviceLimits& now, DeviceLimits wanted,
                               std::span<const DeviceLimits> others, Bytes whole);

}  // namespace tranche::offer
