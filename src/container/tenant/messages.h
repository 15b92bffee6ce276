#pragma once
// Validates the messages that a library sends over a tenant's socket: the peer may send anything.

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "limit/wire.h"

namespace tranche::tenant {

using Incoming = std::variant<limit::wire::Hello, limit::wire::Notice>;

// Parses one packet. nullopt: it is not in our format, or a library may not send it.
std::optional<Incoming> parse(std::span<const std::byte> packet);

// The kernel truncates larger packets, and they are refused.
inline constexpr std::size_t kLargestPacket = 64;

}  // namespace tranche::tenant
