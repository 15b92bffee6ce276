#include "dra/mig_place.h"

#include "dra/names.h"

namespace tranche::dra {

bool overlap(const MigPlace& a, const MigPlace& b) {
  return a.gpu == b.gpu && a.at.start < b.at.end() && b.at.start < a.at.end();
}

std::optional<NamedPlace> find_place(const gpu::Machine& machine, std::string_view name) {
  for (const auto& gpu : machine.gpus) {
    if (!name.starts_with(gpu_device_name(gpu) + "-mig-")) continue;
    for (const auto& profile : gpu.mig_geometry.profiles) {
      for (const int start : profile.starts) {
        if (mig_device_name(gpu, profile, start) != name) continue;
        return NamedPlace{.gpu = &gpu,
                          .profile = &profile,
                          .place = {.gpu = gpu.uuid,
                                    .profile_id = profile.id,
                                    .at = {.start = start, .size = profile.memory_slices}}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tranche::dra
