#pragma once
// Random identifiers.

#include <string>

namespace tranche {

// A random UUID (version 4) in lower case, "0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a", made from the
// kernel's random numbers. Source: RFC 9562.
std::string random_uuid();

}  // namespace tranche
