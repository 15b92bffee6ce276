#pragma once
// Builds MIG profile names as NVIDIA's plugin prints them, for drivers that do not report the name.
// Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tranche::gpu {

// The number of GB in a profile's name: the instance's share of the GPU (rounded up to eighths)
// times the GPU's memory (rounded up to GiB), rounded. An instance of 4864 MiB on an A100-40GB
// gives 5. 0: the total is unknown.
std::uint64_t mig_memory_gb(Bytes instance, Bytes gpu_total);

// The kind of a GPU instance, regardless of its size.
enum class MigKind {
  kPlain,
  kMedia,     // +me: has the media engines that the plain kind lacks
  kAllMedia,  // +me.all
  kNoMedia,   // -me
  kGraphics,  // +gfx
};

// Maps NVML's constant NVML_GPU_INSTANCE_PROFILE_* (0 to 17) to its kind: REV1 is +me, GFX is +gfx,
// NO_ME is -me, ALL_ME is +me.all, all others are plain.
MigKind mig_kind(unsigned gpu_instance_profile);

// "1g.5gb", "1g.5gb+me".
std::string mig_profile_name(int gpu_slices, std::uint64_t memory_gb, MigKind kind);

// The name of a compute instance: its GPU instance's name if it has all slices, otherwise that name
// prefixed with "<compute slices>c.": "1c.2g.10gb".
std::string compute_instance_name(std::string_view gpu_instance_name, int gpu_slices,
                                  int compute_slices);

// A parsed profile name.
struct MigName {
  // Slices of the compute instance; equals gpu_slices if the name has none ("3g.40gb").
  int compute_slices = 0;
  int gpu_slices = 0;
  std::uint64_t memory_gb = 0;
  MigKind kind = MigKind::kPlain;
  bool operator==(const MigName&) const = default;
};

// Parses "3g.40gb", "1g.10gb+me", "1c.3g.40gb". nullopt: not such a name, or the compute instance
// would be larger than its GPU instance.
std::optional<MigName> parse_mig_name(std::string_view name);

// The compute slices at the start of a compute instance's name: 1 for "1c.3g.40gb". nullopt: not
// such a name.
std::optional<int> named_compute_slices(std::string_view name);

// The GPU instance's name within a compute instance's name: "3g.40gb" for "1c.3g.40gb"; any other
// name unchanged.
std::string_view gpu_instance_name(std::string_view name);

// The profile name within a driver's text: "MIG 1g.5gb" (profile info) and "NVIDIA A100-SXM4-40GB
// MIG 1g.5gb" (a MIG device's name) both give "1g.5gb". Empty: there is none.
std::string_view profile_in(std::string_view driver_text);

}  // namespace tranche::gpu
