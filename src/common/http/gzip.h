#pragma once
// Compressed answers: whether a client takes them, and how they are made. Pure; thread-safe.

#include <string>
#include <string_view>

namespace tranche::http {

// Whether a client takes an answer in gzip, from the value of its header Accept-Encoding (RFC 9110,
// section 12.5.3). Any text is allowed: what has another form than the RFC's is no consent.
bool accepts_gzip(std::string_view accept_encoding);

// The text in gzip's format (RFC 1952), the same bytes every time. Needs about 270 KB of memory
// beside the result.
std::string gzip(std::string_view text);

}  // namespace tranche::http
