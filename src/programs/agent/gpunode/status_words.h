#pragma once
// The words of a GPUNode's status (docs/schemas/gpu-node-v1alpha1.schema.json).

#include <string>

#include "config/config.h"
#include "gpu/machine.h"
#include "holdings/holding.h"

namespace tranche::agent {

std::string word_of(gpu::MigMode mode);
std::string word_of(gpu::P2pLevel level);
std::string word_of(config::SharingStrategy sharing);
std::string word_of(holdings::Wire wire);
std::string word_of(holdings::Use use);
std::string word_of(holdings::State state);

}  // namespace tranche::agent
