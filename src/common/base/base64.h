#pragma once
// Base64 (RFC 4648, section 4), as Kubernetes writes bytes in JSON.

#include <optional>
#include <string>
#include <string_view>

namespace tranche {

// Skips white space. nullopt: `text` is not base64.
std::optional<std::string> decode_base64(std::string_view text);
// On one line, padded.
std::string encode_base64(std::string_view bytes);

}  // namespace tranche
