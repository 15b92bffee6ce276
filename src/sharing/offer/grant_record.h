#pragma once
// grant/v1: a stored grant, one line of JSON with version and checksum
// (docs/schemas/grant-v1.schema.json). A grant outlives the call that made it, because kubelet
// replays its own copy. So a record is kept until kubelet no longer lists its ids. This file only
// encodes and decodes; agent/grant_store.h manages the files.
//
//   {"checksum":"<FNV-1a, 64 bits, hex>","record":{...},"version":"grant/v1"}
//
// The checksum covers the text of `record`, compact and with sorted keys. It detects truncated and
// edited lines, not malice.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "offer/grant.h"

namespace tranche::offer {

struct GrantRecord {
  Grant grant;
  std::int64_t granted_at_ms = 0;  // Unix time
  bool operator==(const GrantRecord&) const = default;
};

// One line, without a newline.
std::string encode(const GrantRecord& record);
// kInvalidArgument: not grant/v1, truncated, or its checksum does not match.
Result<GrantRecord> decode(std::string_view line);

}  // namespace tranche::offer
