#pragma once
// What this container was promised of a device, as the agent wrote it beside the arbiter's socket
// (limit/part_format.h). For what is shown while no arbiter has answered; nothing is enforced by
// it, for a container with the rights to do so can mount another file there.
//
// Libc alone; never waits. Read anew each time: the agent replaces the file.

#include <cstdint>

namespace tranche::interpose {

enum class Promise : std::uint8_t {
  kUnreadable,  // there is no such file (an agent of an earlier release), or it is not one of these
  kNoPart,      // it has no line for the device
  kPart,
};

// `folder`: the tenant's, as this process sees it. `memory`: bytes, or wire::kNoLimit.
Promise read_promise(const char* folder, const unsigned char* uuid, std::uint64_t& memory);

// The 16 bytes of "GPU-00112233-4455-..." and "MIG-...", up to the text's end or a space. false: it
// has none.
bool parse_uuid(const char* text, unsigned char* bytes);

}  // namespace tranche::interpose
