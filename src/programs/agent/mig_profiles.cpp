#include "agent/mig_profiles.h"

#include <algorithm>

#include "config/file/json.h"

namespace tranche::agent {

void MigProfiles::note(const gpu::Machine& machine) {
  for (const auto& gpu : machine.gpus) {
    for (const auto& profile : gpu.mig_geometry.profiles) {
      if (std::ranges::find(names_, profile.name) == names_.end()) names_.push_back(profile.name);
    }
  }
}

std::string MigProfiles::effective(const config::Loaded& loaded) const {
  const auto& config = loaded.config;
  if (config.flags.mig_strategy != config::MigStrategy::kMixed || !config.migs.empty()) {
    return loaded.json;
  }
  return config::with_mig_resources(loaded.json, names_);
}

}  // namespace tranche::agent
