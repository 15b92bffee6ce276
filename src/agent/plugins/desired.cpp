#include "agent/plugins/desired.h"

namespace tranche::agent {

offer::GrantOptions make_grant_options(const config::Config& config, const NodeFacts& facts) {
  const auto& plugin = config.flags.plugin;
  return {
      .list_strategies = plugin.device_list_strategies,
      .id_strategy = plugin.device_id_strategy,
      .cdi_annotation_prefix = plugin.cdi_annotation_prefix,
      .pass_device_specs = plugin.pass_device_specs,
      .dev_root = config.flags.nvidia_dev_root,
      .control_nodes = facts.control_nodes,
      .imex_channels = facts.imex_channels,
      .gdrcopy = config.flags.gdrcopy_enabled,
      .gds = config.flags.gds_enabled,
      .mofed = config.flags.mofed_enabled,
      .cdi_modes = facts.cdi_modes,
      .limits = facts.limits,
      .mps_root = config.flags.mps_root,
  };
}

std::vector<deviceplugin::ResourceState> make_states(const offer::Offer& offer,
                                                     const config::Config& config,
                                                     const NodeFacts& facts,
                                                     std::shared_ptr<const offer::Links> links) {
  const auto options = make_grant_options(config, facts);
  std::vector<deviceplugin::ResourceState> states;
  states.reserve(offer.resources.size());
  for (const auto& resource : offer.resources) {
    states.push_back(
        {resource, options, config.flags.plugin.shared_devices_allocation_policy, links});
  }
  return states;
}

}  // namespace tranche::agent
