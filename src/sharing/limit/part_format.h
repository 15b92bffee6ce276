#pragma once
// A container's promised part, as a file in its mounted folder (<state dir>/tenants/<id>/,
// docs/internals/limits.md): only used for memory views while no arbiter responds. Only the agent
// writes it. After a first line, it has one line per device of which the container is shown a part:
//
//   tranche-part/v1
//   GPU-00112233-4455-6677-8899-aabbccddeeff 4026531840
//   MIG-00112233-4455-6677-8899-aabbccddeeff all
//
// A device and bytes of memory; `all`: its memory is not limited, though its time may be. Devices
// that are only counted have no line. The file exists even without device lines: then nothing is
// limited.
//
// This header includes nothing, like limit/wire.h.

namespace tranche::limit::part_format {

inline constexpr const char* kName = "part";
inline constexpr const char* kFirstLine = "tranche-part/v1";
inline constexpr const char* kAll = "all";

}  // namespace tranche::limit::part_format
