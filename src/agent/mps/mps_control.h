#pragma once
// `tranche mps-control-daemon` (and mps-control-daemon): NVIDIA's MPS control daemons of a node,
// supervised, by the configuration that the agent has too.

#include "config/flags/sources.h"

namespace tranche::agent {

// Runs until a signal; SIGHUP reads configuration and hardware anew. Exit code 0 after a signal, 1
// for what cannot be started.
int run_mps_control(const config::Sources& sources);

// `mount-shm`: a tmpfs for the containers' /dev/shm at <mps dir>/shm, in place of what is there.
int mount_mps_shm(const config::Sources& sources);

// `check`, for a probe: 0 while every daemon that is wanted serves.
int check_mps_control(const config::Sources& sources);

}  // namespace tranche::agent
