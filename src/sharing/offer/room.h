#pragma once
// Computes how many tranches of a shared device may be held next to what containers of other
// resources keep of it, and how far a container may be raised next to the others. Some containers'
// limits no longer follow the offer: they keep their part of memory and time. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"
#include "offer/offer.h"

namespace tranche::offer {

// The capacity of a device of an offer.
struct Room {
  std::size_t tranches = 0;
  Bytes whole{};                            // the device's memory
  std::optional<Bytes> memory{};            // of a tranche; nullopt: the sum is not limited
  std::optional<std::uint32_t> permille{};  // of the device's time, of a tranche; nullopt: as above
  bool operator==(const Room&) const = default;
};

// `device`: an index of ResourceOffer::devices.
Room room_of(const ResourceOffer& offer, std::size_t device);

// How many tranches may be held next to `others`, holdings of the device by other resources. Each
// of them takes a tranche. Where their parts (Holding::part) are larger than tranches, they take as
// many more as those need, in memory and in time.
std::size_t tranches_next_to(const Room& room, std::span<const holdings::Holding* const> others);

// The containers' total of a device.
struct Kept {
  std::uint64_t memory = 0;  // bytes
  std::uint64_t permille = 0;

  // A part without a limit, of a device of `whole` bytes, counts by its weight: a container that
  // held all tranches of the device has no limit, and its weight is the whole.
  void add(const DeviceLimits& part, Bytes whole);
};

// What a container that has `now` of a device of `whole` bytes gets when it should have `wanted`: a
// decrease applies at once, an increase only if it fits next to `others`, the parts of all its
// other holders. Memory and time are treated separately; whichever does not fit stays unchanged.
DeviceLimits as_far_as_it_fits(const DeviceLimits& now, DeviceLimits wanted,
                               std::span<const DeviceLimits> others, Bytes whole);

}  // namespace tranche::offer
