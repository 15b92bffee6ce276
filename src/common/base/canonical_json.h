#pragma once
// JSON in one canonical form: on one line, with sorted keys. Equal values always give equal text.
// Checksums are made of such texts (base/envelope.h).

#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace tranche::json {

// The canonical text of `value`; nullopt: it holds a number or a string that cannot be represented.
// json::Value::text(kSorted) gives the same text for the same value. The text is made part by part,
// because a tree of a large list takes many times the memory of its text.
std::optional<std::string> canonical_text(View value);
// The canonical text of an object. `members`: key -> canonical text of the value.
std::string object_text(const std::map<std::string, std::string>& members);

}  // namespace tranche::json
