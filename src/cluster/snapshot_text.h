#pragma once
// What writing and reading of snapshot/v1 share. Included by .cpp files alone: it brings nlohmann's
// header along.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/checksum.h"

namespace tranche::cluster {

inline constexpr std::string_view kSnapshotVersion = "snapshot/v1";

// Keys are sorted and nothing is indented, so equal values always give equal text.
inline std::string snapshot_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline std::string snapshot_checksum(const nlohmann::json& body) {
  return fmt::format("{:016x}", checksum(snapshot_text(body)));
}

}  // namespace tranche::cluster
