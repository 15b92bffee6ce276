#pragma once
// What a container was promised, as a file in the folder that it mounts (<state dir>/tenants/<id>/,
// docs/internals/limits.md): for views while no arbiter answers, and for nothing else. Only the
// agent writes it. A first line, then one for each device of which the container is shown a part:
//
//   tranche-part/v1
//   GPU-00112233-4455-6677-8899-aabbccddeeff 4026531840
//   MIG-00112233-4455-6677-8899-aabbccddeeff all
//
// A device and bytes of memory; `all`: its memory is not limited, though its time may be. What is
// only counted has no line. The file is there also without a line: then nothing is limited.
//
// This header includes nothing, as limit/wire.h.

namespace tranche::limit::part_format {

inline constexpr const char* kName = "part";
inline constexpr const char* kFirstLine = "tranche-part/v1";
inline constexpr const char* kAll = "all";

}  // namespace tranche::limit::part_format
