#pragma once
// snapshot/v1: a snapshot as one JSON text. Schema: docs/schemas/snapshot-v1.schema.json.
//
//     {"checksum":"<FNV-1a, 64 bits, hex>","snapshot":{...},"version":"snapshot/v1"}
//
// The checksum covers `snapshot` written compactly with sorted keys: indenting the file leaves it
// valid, editing does not.

#include <string>
#include <string_view>

#include "base/envelope.h"
#include "base/result.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster {

inline constexpr EnvelopeKind kSnapshot{.version = "snapshot/v1", .key = "snapshot"};

// One line with its newline. Snapshots that differ only in order give the same text.
std::string encode(const Snapshot& snapshot);
// kInvalidArgument, with what is wrong and where: not a snapshot, another version, a checksum
// mismatch, a part that is missing or not an object of its kind, or a duplicate object.
Result<Snapshot> decode(std::string_view text);

}  // namespace tranche::cluster
