#pragma once
// Random identifiers.

#include <string>

namespace tranche {

// A random (version 4) UUID in lower case, "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a", from the
// kernel's random source. Source: RFC 9562.
std::string random_uuid();

}  // namespace tranche
