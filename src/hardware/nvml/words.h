#pragma once
// Maps NVML's numbers for kinds of GPUs to the words of NVIDIA's DRA driver, which claims select
// by. Pure.

#include <string_view>

namespace tranche::nvml {

// nvmlBrandType_t: 2 gives "Tesla". Empty: unknown number.
std::string_view brand_text(unsigned brand);

// nvmlDeviceAddressingModeType_t: "None", "HMM" or "ATS". Empty: unknown number.
std::string_view addressing_text(unsigned mode);

}  // namespace tranche::nvml
