#pragma once
// The envelope of what is stored: one JSON object with the content under a key of its own, the
// version of its format, and a checksum.
//
//     {"checksum":"<FNV-1a, 64 bits, hex>","limits":{...},"version":"limits/v1"}
//
// The checksum is over the content written compactly with sorted keys, so indenting a file by hand
// leaves it valid. It finds torn and edited files, not malice.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tranche {

struct EnvelopeKind {
  std::string_view version;  // "limits/v1"
  std::string_view key;      // of the content: "limits"; sorts between "checksum" and "version"
};

// `content`: a JSON text as json::Value::text(kSorted) makes it. `written_at`: a member
// `writtenAt`, for readers only and outside the checksum; empty: none.
std::string seal(const EnvelopeKind& kind, std::string_view content,
                 std::string_view written_at = {});

// The content, as a view into `text`. It nests json::kMaxDepth levels at most. kInvalidArgument:
// torn, no such envelope, another version, or its checksum does not match.
Result<json::View> unseal(const EnvelopeKind& kind, std::string_view text);

}  // namespace tranche
