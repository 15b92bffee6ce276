#pragma once
// What writing and reading of snapshot/v1 share: the text that its checksum is over. Made part by
// part, for a tree of a large cluster costs many times its text.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_value.h"

namespace tranche::cluster {

inline constexpr std::string_view kSnapshotVersion = "snapshot/v1";

// Keys are sorted and nothing is indented, so equal values always give equal text.
std::string snapshot_text(const json::Value& value);
// The same of an object whose members (key -> value) are such texts already.
std::string object_text(const std::map<std::string, std::string>& members);
// snapshot_text() of what stands there, however it is written; nullopt when it holds a number or a
// text that no program can hold.
std::optional<std::string> canonical_text(json::View value);

// Of such a text.
std::string snapshot_checksum(std::string_view text);

}  // namespace tranche::cluster
