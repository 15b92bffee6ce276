#pragma once
// The counters that keep the devices of one GPU apart. Pure.
//
// They count what NVIDIA's driver counts when it makes instances (mig/place.h): memory slices
// ("memory-slice-<n>", each by itself), "compute-slices", engines ("decoders", "encoders",
// "jpeg-engines", "ofa-engines"), and where fewer instances of a profile are possible than it has
// places, those ("instances-<profile id>"). Memory and multiprocessors follow from these.

#include "cluster/resource_slice.h"
#include "gpu/mig_profile.h"

namespace tranche::dra {

// All that a GPU of this geometry has: of each kind what the profile with the most has.
cluster::Counters whole_gpu(const gpu::MigGeometry& geometry);
// What an instance takes.
cluster::Counters of_instance(const gpu::MigGeometry& geometry,
                              const gpu::GpuInstanceProfile& profile, int start);

}  // namespace tranche::dra
