#pragma once
// The UUID of a GPU or MIG instance in CUDA's form: 16 bytes.

#include <array>
#include <optional>
#include <string_view>

namespace tranche::limit {

using UuidBytes = std::array<unsigned char, 16>;

// Parses "GPU-2b6a1a46-...", "MIG-...", or the digits alone. nullopt: not a UUID. An instance's old
// name "MIG-GPU-<uuid>/<gi>/<ci>" has no UUID bytes.
std::optional<UuidBytes> uuid_bytes(std::string_view uuid);

}  // namespace tranche::limit
