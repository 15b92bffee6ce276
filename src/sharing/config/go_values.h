#pragma once
// Parses and prints values like Go's strconv and time packages: users' flags, environment and files
// were written for Go programs. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::config::go {

// strconv.ParseBool: 1 t T TRUE true True 0 f F FALSE false False, nothing else (not "yes").
std::optional<bool> parse_bool(std::string_view text);

// strconv.ParseInt(text, 0, 64): decimal, 0x, 0o, 0b, leading 0 (octal).
std::optional<std::int64_t> parse_int(std::string_view text);

// time.ParseDuration: "300ms", "-1.5h", "2h45m", "0". nullopt for any other form, and for a
// duration that is too long.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// time.Duration.String: "1m0s", "1.5s", "250ms", "0s".
std::string format_duration(std::chrono::nanoseconds duration);

// uuid.Parse of google/uuid: 36 characters, the same in braces or after "urn:uuid:", or 32 digits.
bool is_uuid(std::string_view text);

}  // namespace tranche::config::go
