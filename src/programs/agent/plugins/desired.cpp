#include "agent/plugins/desired.h"

#include <utility>

#include "agent/limits/limit_standing.h"

namespace tranche::agent {

offer::GrantOptions make_grant_options(const State& state, std::vector<std::string> cdi_modes) {
  const auto& config = state.config;
  const auto& plugin = config.flags.plugin;
  return {
      .list_strategies = plugin.device_list_strategies,
      .id_strategy = plugin.device_id_strategy,
      .cdi_annotation_prefix = plugin.cdi_annotation_prefix,
      .pass_device_specs = plugin.pass_device_specs,
      .dev_root = config.flags.nvidia_dev_root,
      .control_nodes = state.facts.control_nodes,
      .imex_channels = state.facts.imex_channels,
      .gdrcopy = config.flags.gdrcopy_enabled,
      .gds = config.flags.gds_enabled,
      .mofed = config.flags.mofed_enabled,
      .cdi_modes = std::move(cdi_modes),
      .limits = state.get<LimitStanding>().mounts,
      .mps_root = config.flags.mps_root,
  };
}

std::vector<deviceplugin::ResourceState> make_states(const offer::Offer& offer, const State& state,
                                                     std::vector<std::string> cdi_modes) {
  const auto options = make_grant_options(state, std::move(cdi_modes));
  std::vector<deviceplugin::ResourceState> states;
  states.reserve(offer.resources.size());
  for (const auto& resource : offer.resources) {
    states.push_back({resource, options, state.config.flags.plugin.shared_devices_allocation_policy,
                      state.links});
  }
  return states;
}

}  // namespace tranche::agent
