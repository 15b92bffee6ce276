#pragma once
// What a configuration says that no node can offer, whatever its GPUs: the agent says it with its
// offer, when it has read the hardware. Pure.

#include "config/config.h"
#include "explain/lint/place.h"

namespace tranche::lint {

void check_offers(const config::Config& config, const TextPlace& place, Report& report);

}  // namespace tranche::lint
