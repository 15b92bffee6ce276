#pragma once
// The counters that keep the devices of one GPU from overlapping. Pure.
//
// They count what NVIDIA's driver counts when it creates instances (mig/place.h): memory slices
// ("memory-slice-<n>", each separately), "compute-slices", engines ("decoders", "encoders",
// "jpeg-engines", "ofa-engines"), and for profiles with fewer possible instances than places, those
// ("instances-<profile id>"). Memory and multiprocessors follow from these.

#include "cluster/resource_slice.h"
#include "gpu/mig_profile.h"

namespace tranche::dra {

// The total of a GPU of this geometry: for each kind, the maximum over the profiles.
cluster::Counters whole_gpu(const gpu::MigGeometry& geometry);
// The counters consumed by an instance.
cluster::Counters of_instance(const gpu::MigGeometry& geometry,
                              const gpu::GpuInstanceProfile& profile, int start);

}  // namespace tranche::dra
