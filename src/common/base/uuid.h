#pragma once
// Random identifiers.

#include <string>
#include <string_view>

namespace tranche {

// A random UUID (version 4) in lower case, "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a", made from the
// kernel's random numbers. Source: RFC 9562.
std::string random_uuid();

// Whether the text has the form that random_uuid() and Kubernetes write. Such a text is safe as a
// file name.
bool is_uuid(std::string_view text);

}  // namespace tranche
