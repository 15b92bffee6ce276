#pragma once
// What a node's nvidia-cuda-mps-control can do, by the version that it tells of itself, and what of
// tranche.mps is left of it there. Decided once in a supervisor's life. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "mps/protocol.h"

namespace tranche::mps {

struct Capability {
  int cuda_version = 0;            // 13040: CUDA 13.4; 0: it does not tell
  bool static_partitions = false;  // from CUDA 13.1 on
  bool operator==(const Capability&) const = default;
};

// Of the output of `nvidia-cuda-mps-control -v` ("... version: 13040"; older programs, which know
// no such option, say other things and can neither).
Capability read_version(std::string_view output);
bool speaks(const Capability& capability, const Protocol& protocol);
// "of CUDA 13.4: protocols 2 and 3, static SM partitions".
std::string describe(const Capability& capability);

struct Settled {
  config::MpsControlRules rules;
  std::vector<std::string> fallbacks;  // what was wished for and is not there, and what follows
};
Settled settle(const config::MpsControlRules& wanted, const Capability& capability);

}  // namespace tranche::mps
