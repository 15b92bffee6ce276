#pragma once
// DNS labels (RFC 1123: at most 63 of a-z, 0-9 and '-') made of text that somebody else chose.

#include <string>
#include <string_view>

namespace tranche::admission {

// Letters in lower case, '-' for whatever is no letter and no digit; none at the ends. Of a text
// that is too long the beginning, and a checksum of the whole. Empty if the text holds no letter
// and no digit.
std::string dns_label(std::string_view text);

// `label`, which is one, for number 1; else with "-2", "-3" behind it.
std::string numbered_label(const std::string& label, int number);

}  // namespace tranche::admission
