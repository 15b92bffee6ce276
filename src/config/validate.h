#pragma once
// The rules that NVIDIA's programs check after parsing, on the effective settings, in their order.

#include "config/load.h"
#include "config/problems.h"
#include "config/settings.h"

namespace tranche::config {

// The agent's program checks everything; feature discovery the discovery strategy, and here the MIG
// strategy too, on which it would fail later.
void validate(const Settings& settings, Program program, Problems& problems);

// The value of a setting's text; nullopt when it is none of the enumeration's.
std::optional<MigStrategy> mig_strategy_of(std::string_view text);
std::optional<DeviceListStrategy> device_list_strategy_of(std::string_view text);
std::optional<DeviceIdStrategy> device_id_strategy_of(std::string_view text);
std::optional<AllocationPolicy> allocation_policy_of(std::string_view text);
std::optional<DiscoveryStrategy> discovery_strategy_of(std::string_view text);

}  // namespace tranche::config
