#pragma once
// How strictly the limits of a container are enforced, and its priority on a device. The numbers
// are part of the policy page (limit/wire.h). So this header, like that one, includes nothing of
// ours and needs no library at run time.

#include <cstdint>

namespace tranche {

enum class Enforcement : std::uint32_t {
  kOff,      // as without Tranche: nothing is counted or limited, no memory view is changed
  kAccount,  // usage is counted; nothing is refused or delayed
  kStrict,   // memory and compute up to the tenant's part
  kElastic,  // the part, plus what others leave idle: compute, and memory up to the hard limit
};

// From the most to the least urgent.
enum class Priority : std::uint32_t { kLatencyCritical, kNormal, kBestEffort };

}  // namespace tranche
