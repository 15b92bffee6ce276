#pragma once
// JSON written in one way: on one line, with sorted keys, so that equal values always give equal
// text. Checksums are made of such texts (base/envelope.h).

#include <map>
#include <optional>
#include <string>

#include "base/json.h"

namespace tranche::json {

// What stands there, however it is written; nullopt when it holds a number or a text that no
// program can hold. json::Value::text(kSorted) gives the same text of the same value. Made part by
// part, for the tree of a large list costs many times its text.
std::optional<std::string> canonical_text(View value);
// Of an object whose members (key -> value) are such texts already.
std::string object_text(const std::map<std::string, std::string>& members);

}  // namespace tranche::json
