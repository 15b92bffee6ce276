#pragma once
// Names of MIG profiles as NVIDIA's plugin prints them, for drivers that do not tell the name.
// Pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tranche::gpu {

// The whole GB in a profile's name: the instance's share of the GPU in eighths, rounded up, of the
// GPU's memory in GiB, rounded up. An A100-40GB's 4864 MiB is 5. 0 when the total is unknown.
std::uint64_t mig_memory_gb(Bytes instance, Bytes gpu_total);

// What kind of GPU instance it is, beside its size.
enum class MigKind {
  kPlain,
  kMedia,     // +me: takes media engines that the plain one leaves out
  kAllMedia,  // +me.all
  kNoMedia,   // -me
  kGraphics,  // +gfx
};

// Of NVML's GPU instance profile constant (NVML_GPU_INSTANCE_PROFILE_*, 0 to 17): REV1 is +me,
// GFX +gfx, NO_ME -me, ALL_ME +me.all, the rest plain.
MigKind mig_kind(unsigned gpu_instance_profile);

// "1g.5gb", "1g.5gb+me".
std::string mig_profile_name(int gpu_slices, std::uint64_t memory_gb, MigKind kind);

// A compute instance's name from its GPU instance's: the same when it takes all slices, else with
// "<compute slices>c." before it ("1c.2g.10gb").
std::string compute_instance_name(std::string_view gpu_instance_name, int gpu_slices,
                                  int compute_slices);

// The profile name in what a driver prints: "MIG 1g.5gb" (profile info) and "NVIDIA
// A100-SXM4-40GB MIG 1g.5gb" (a MIG device's name) both give "1g.5gb"; empty when there is none.
std::string_view profile_in(std::string_view driver_text);

}  // namespace tranche::gpu
