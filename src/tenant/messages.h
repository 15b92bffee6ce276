#pragma once
// What comes over a tenant's socket, checked: the peer may send anything.

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "limit/wire.h"

namespace tranche::tenant {

using Incoming = std::variant<limit::wire::Hello, limit::wire::Notice>;

// One packet. nullopt: not ours, or no message that a library may send.
std::optional<Incoming> parse(std::span<const std::byte> packet);

// Larger packets are cut off by the kernel, and refused.
inline constexpr std::size_t kLargestPacket = 64;

}  // namespace tranche::tenant
