#pragma once
// The part of a device promised to this container, as the agent wrote it next to the arbiter's
// socket (limit/part_format.h). Used for memory views while no arbiter has answered. It enforces
// nothing, because a container with the rights to do so can mount another file there.
//
// Only libc; never blocks. Read again each time: the agent replaces the file.

#include <cstdint>

namespace tranche::interpose {

enum class Promise : std::uint8_t {
  kUnreadable,  // there is no such file (an agent of an earlier release), or it has another format
  kNoPart,      // it has no line for the device
  kPart,
};

// `folder`: the tenant's, as this process sees it. `memory`: bytes, or wire::kNoLimit.
Promise read_promise(const char* folder, const unsigned char* uuid, std::uint64_t& memory);

// The 16 bytes of "GPU-00112233-4455-..." and "MIG-...", up to the text's end or a space. false: it
// has none.
bool parse_uuid(const char* text, unsigned char* bytes);

}  // namespace tranche::interpose
