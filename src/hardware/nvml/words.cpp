#include "nvml/words.h"

#include <array>

namespace tranche::nvml {
namespace {

constexpr auto kBrands = std::to_array<std::string_view>(
    {"Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan", "NvidiaVApps", "NvidiaVPC",
     "NvidiaVCS", "NvidiaVWS", "NvidiaCloudGaming", "QuadroRTX", "NvidiaRTX", "Nvidia",
     "GeForceRTX", "TitanRTX"});
constexpr auto kAddressingModes = std::to_array<std::string_view>({"None", "HMM", "ATS"});

}  // namespace

std::string_view brand_text(unsigned brand) {
  return brand < kBrands.size() ? kBrands[brand] : std::string_view();
}

std::string_view addressing_text(unsigned mode) {
  return mode < kAddressingModes.size() ? kAddressingModes[mode] : std::string_view();
}

}  // namespace tranche::nvml
