#pragma once
// A GPU or MIG instance as an allocatable device: its files, its memory, and why it cannot be used.
// Pure.

#include <optional>
#include <string_view>

#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// Has no paths if the driver does not report the minor number: a guessed node could be another
// GPU's.
Device device_of(const gpu::Gpu& gpu, const gpu::HealthReport& health);
Device device_of(const gpu::Gpu& gpu, const gpu::MigInstance& instance,
                 const gpu::HealthReport& health);

// The device with this UUID ("GPU-...", "MIG-..."); nullopt: the machine does not have it.
std::optional<Device> find_device(const gpu::Machine& machine, std::string_view uuid,
                                  const gpu::HealthReport& health = {});

}  // namespace tranche::offer
