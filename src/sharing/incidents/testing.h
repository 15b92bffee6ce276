#pragma once
// Incidents for tests.

#include "incidents/incident.h"

namespace tranche::incidents::testing {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

// team-a/train (limit 8 GiB, uses 7.2) asked 2 GiB; team-b/other took 3 GiB 4 s before, and holds
// 12.
inline Incident refused_by_device() {
  Incident incident{.id = "20261128-154301-device",
                    .cause = Cause::kDevice,
                    .at = cluster::parse_time("2026-11-28T15:43:01.25Z").value(),
                    .device = "GPU-1",
                    .tenant = "t-a",
                    .asked_bytes = 2 * kGiB,
                    .held_bytes = 72 * kGiB / 10,
                    .holders = {}};
  incident.holders = {
      {.tenant = "t-a",
       .resource = "nvidia.com/gpu",
       .pod = {.ns = "team-a", .pod = "train", .uid = "u-1", .container = "main"},
       .limit_bytes = 8 * kGiB,
       .held_bytes = 72 * kGiB / 10,
       .seconds = {{.before = 1, .held_bytes = 7 * kGiB, .launches = 5, .gpu_ms = 400},
                   {.before = 0, .held_bytes = 7 * kGiB, .waited_ms = 900, .refused = 1}}},
      {.tenant = "t-b",
       .resource = "nvidia.com/gpu",
       .pod = {.ns = "team-b", .pod = "other", .uid = "u-2", .container = "main"},
       .limit_bytes = 16 * kGiB,
       .held_bytes = 12 * kGiB,
       .growth = {.bytes = 3 * kGiB, .before_ms = 4200},
       .seconds = {{.before = 8, .held_bytes = 9 * kGiB}, {.before = 4, .held_bytes = 12 * kGiB}}}};
  return incident;
}

}  // namespace tranche::incidents::testing
