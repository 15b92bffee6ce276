#pragma once
// The MIG profiles of the known models, for planning without hardware. The driver's report about an
// actual GPU always wins: names, memory and multiprocessors vary with driver and vBIOS, while ids
// and geometry do not. tests/data/mig-profiles.yaml has the source of each figure; a test compares
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
  // Whether a change of MIG mode needs a GPU reset (Ampere). nullopt: unknown.
  std::optional<bool> mode_needs_reset;
};

std::span<const MigModel> mig_models();

// Finds a model by key, ignoring case, or by product name, with or without "NVIDIA "; nullptr:
// unknown.
const MigModel* find_mig_model(std::string_view name);

// Whether drivers use both names for the profile `id` of some model: 19, "1g.35gb" and "1g.31gb" on
// GB300. The id is needed because 1g.35gb on H200 is another profile.
bool same_profile(int id, std::string_view name, std::string_view other);

}  // namespace tranche::gpu
