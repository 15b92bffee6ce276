#pragma once
// snapshot/v1: a snapshot as one JSON text. Schema: docs/schemas/snapshot-v1.schema.json.
//
//     {"checksum":"<FNV-1a, 64 bits, hex>","snapshot":{...},"version":"snapshot/v1"}
//
// The checksum is over `snapshot` written compactly with sorted keys: indenting the file leaves it
// valid, editing does not.

#include <string>
#include <string_view>

#include "base/envelope.h"
#include "base/result.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::cluster {

inline constexpr EnvelopeKind kSnapshot{.version = "snapshot/v1", .key = "snapshot"};

// One line with its newline. Snapshots that differ in order alone give the same text.
std::string encode(const Snapshot& snapshot);
// kInvalidArgument, with what is wrong and where: no snapshot, another version, a checksum that
// does not match, a part that is missing or no object of its kind, an object that is there twice.
Result<Snapshot> decode(std::string_view text);

}  // namespace tranche::cluster
