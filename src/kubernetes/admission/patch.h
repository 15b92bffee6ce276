#pragma once
// A JSON patch (RFC 6902) that makes one JSON value out of another. The values say what shall be;
// the patch is what differs, no more. So nothing here, and nothing that asks for a patch, can
// forget an operation.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"

namespace tranche::admission {

// "/" and the key, escaped: "/nvidia.com~1gpu".
std::string pointer_step(std::string_view key);

// Members by key, in the order of the text; of equal keys the last counts. Empty for no object.
std::vector<json::Member> distinct_members(json::View object);

// The same value: the order of members does not count; numbers are compared as they are written.
bool same_value(json::View a, json::View b);

// Appends to `operations` what makes `wanted` of `now` at `pointer`. nullopt: nothing stands there.
// What is removed from a list, changed in it or appended to it is one operation for each element; a
// list that differs in several of these ways is replaced.
void add_difference(const std::string& pointer, std::optional<json::View> now,
                    std::optional<json::View> wanted, json::Value& operations);

}  // namespace tranche::admission
