#pragma once
// What is known of GPU models before any driver is asked: planning and refusals ("T4 has no MIG").
// MIG capability is a property of the model, never of the compute capability: L20 (8.9) and T4
// (7.5) have none, A30 (8.0) and H20 (9.0) have it. Source: NVIDIA data sheets and MIG user guide.

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
  Bytes memory;  // as NVML reports it with a recent driver, ECC as shipped: for planning
  bool mig_capable = false;
};

std::span<const Model> known_models();

// By NVML's product name ("NVIDIA A100-SXM4-40GB", "Tesla T4", "A30"); nullptr when unknown.
const Model* find_model(std::string_view product_name);

// NVIDIA's family name of a compute capability, as in the label nvidia.com/gpu.family: "turing",
// ..., "undefined".
std::string_view family(ComputeCapability capability);

}  // namespace tranche::gpu
