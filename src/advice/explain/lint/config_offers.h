#pragma once
// Parts of a configuration that no node can offer, whatever its GPUs: the agent reports them with
// its offer, after reading the hardware. Pure.

#include "config/config.h"
#include "explain/lint/place.h"

namespace tranche::lint {

void check_offers(const config::Config& config, const TextPlace& place, Report& report);

}  // namespace tranche::lint
