#pragma once
// JSON written as YAML, as kubectl -o yaml lays it out: block style, the items of a list at the
// indent of their key. Pure.

#include <string>
#include <string_view>

namespace tranche::json {

// `json`: an object whose keys need no quotes in YAML. Scalars stay as JSON writes them, which is
// YAML too. Text that is not an object is returned with a newline.
std::string to_yaml(std::string_view json);

}  // namespace tranche::json
