#pragma once
// The capabilities of a node's nvidia-cuda-mps-control, from its reported version, and which
// settings of tranche.mps work with it. A supervisor determines this once in its life. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "mps/protocol.h"

namespace tranche::mps {

struct Capability {
  int cuda_version = 0;            // 13040: CUDA 13.4; 0: not reported by the program
  bool static_partitions = false;  // from CUDA 13.1 on
  bool operator==(const Capability&) const = default;
};

// Parses the output of `nvidia-cuda-mps-control -v` ("... version: 13040"). Older programs do not
// know the option and print other text. They have neither protocol 3 nor static partitions.
Capability read_version(std::string_view output);
bool speaks(const Capability& capability, const Protocol& protocol);
// "of CUDA 13.4: protocols 2 and 3, static SM partitions".
std::string describe(const Capability& capability);

struct Settled {
  config::MpsControlRules rules;
  std::vector<std::string> fallbacks;  // settings that do not work here, and their replacements
};
Settled settle(const config::MpsControlRules& wanted, const Capability& capability);

}  // namespace tranche::mps
