#pragma once
// The MIG profiles of the models we know, for planning without hardware. What a driver says of the
// GPU at hand always wins: names, memory and multiprocessors vary with driver and vBIOS, while ids
// and geometry do not. tests/data/mig-profiles.yaml says how each figure was found; a test compares
// the two. Constant data.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/mig_profile.h"

namespace tranche::gpu {

struct MigModel {
  std::string_view key;                          // "a100-80gb": --model of `tranche layout`
  std::vector<std::string_view> product_names;   // as NVML prints them: "NVIDIA A100-SXM4-80GB"
  std::vector<std::string_view> pci_device_ids;  // "20B2"
  MigGeometry geometry;
  // A change of the MIG mode takes effect at a GPU reset only (Ampere). nullopt: nobody tells.
  std::optional<bool> mode_needs_reset;
};

std::span<const MigModel> mig_models();

// By key, in any case of letters, or by product name, with or without "NVIDIA "; nullptr: not
// known.
const MigModel* find_mig_model(std::string_view name);

// Whether drivers call the profile `id` of some model by both names: 19, "1g.35gb" and "1g.31gb" of
// GB300. The id is needed, for 1g.35gb of H200 is another profile.
bool same_profile(int id, std::string_view name, std::string_view other);

}  // namespace tranche::gpu
