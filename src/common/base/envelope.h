#pragma once
// The envelope of our stored files: one JSON object with the content under its own key, the version
// of the format, and a checksum.
//
//     {"checksum":"<FNV-1a, 64 bits, hex>","limits":{...},"version":"limits/v1"}
//
// The checksum is made of the content in canonical form (base/canonical_json.h), so a file that was
// indented by hand stays valid. It finds torn and edited files. It does not protect from malice.

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace tranche {

struct EnvelopeKind {
  std::string_view version;  // "limits/v1"
  std::string_view key;      // key of the content: "limits"; sorts between "checksum" and "version"
};

// `content`: a JSON text as json::Value::text(kSorted) makes it. `written_at`: value of a member
// `writtenAt`, which is for people and not in the checksum; empty: no such member.
std::string seal(const EnvelopeKind& kind, std::string_view content,
                 std::string_view written_at = {});

// Returns the content as a view into `text`, at most json::kMaxDepth levels deep. kInvalidArgument:
// the text is torn or not such an envelope, its version differs, or the checksum does not match.
Result<json::View> unseal(const EnvelopeKind& kind, std::string_view text);

}  // namespace tranche
