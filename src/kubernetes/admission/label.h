#pragma once
// DNS labels (RFC 1123: at most 63 of a-z, 0-9 and '-') made from arbitrary text.

#include <string>
#include <string_view>

namespace tranche::admission {

// In lower case, with '-' for other characters, none at the ends. A text that is too long is cut
// and gets a checksum of the whole. Empty if the text has no letter or digit.
std::string dns_label(std::string_view text);

// `label` (a DNS label) for number 1; else with "-2", "-3" appended.
std::string numbered_label(const std::string& label, int number);

}  // namespace tranche::admission
