#pragma once
// `tranche mps-control-daemon` (and mps-control-daemon): supervises a node's MPS control daemons by
// the agent's configuration.

#include "config/flags/sources.h"

namespace tranche::agent {

// Runs until a signal; SIGHUP re-reads configuration and hardware. Exit code 0 after a signal, 1 if
// it cannot start.
int run_mps_control(const config::Sources& sources);

// `mount-shm`: mounts a tmpfs at <mps dir>/shm for the containers' /dev/shm, in place of a previous
// one.
int mount_mps_shm(const config::Sources& sources);

// `check`, for a probe: 0 while every wanted daemon serves.
int check_mps_control(const config::Sources& sources);

}  // namespace tranche::agent
