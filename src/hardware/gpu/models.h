#pragma once
// A table of GPU models, for planning and for refusals ("T4 has no MIG") before any driver
// is queried. MIG depends on the model, not on the compute capability: A30 (8.0) and H20
// (9.0) have it, L20 (8.9) and T4 (7.5) do not. Source: NVIDIA's data sheets and MIG user
// guide.

#include <optional>
#include <span>
#include <string_view>

#include "base/units.h"
#include "gpu/ids.h"

namespace tranche::gpu {

struct Model {
  std::string_view name;          // as NVML prints it, without "NVIDIA " or "Tesla "
  std::string_view architecture;  // "turing", "ampere", "ada-lovelace", "hopper", "blackwell"
  ComputeCapability compute_capability;
  Bytes memory;  // as a recent driver's NVML reports it with the factory ECC setting; for planning
  bool mig_capable = false;
};

std::span<const Model> known_models();

// Looks a model up by NVML's product name ("NVIDIA A100-SXM4-40GB", "Tesla T4", "A30"); nullptr:
// not in the table.
const Model* find_model(std::string_view product_name);

// NVIDIA's family name of a compute capability, as in the label nvidia.com/gpu.family:
// "turing",
// ..., "undefined".
std::string_view family(ComputeCapability capability);

}  // namespace tranche::gpu
