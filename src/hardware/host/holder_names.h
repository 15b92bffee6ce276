#pragma once
// Describes who has a GPU open: the process and its Pod, so that an operator knows what to stop.
// Processes choose their names and commands, so these are made printable.

#include <functional>
#include <string>
#include <vector>

#include "host/device_holders.h"
#include "host/process.h"

namespace tranche::host {

// The Pod's "shop/train"; "": unknown.
using PodNameOf = std::function<std::string(const PodProcess&)>;

// "python (pid 4711, Pod shop/train)"; a Pod of unknown name with its uid and the container.
// A process outside any Pod with its systemd unit, if it has one, and its command:
// "nv-hostengine (pid 12, nvidia-dcgm.service: /usr/bin/nv-hostengine -n)".
std::string describe(const DeviceHolder& holder, const PodNameOf& pod_name);

// One text per holder, at most `most`, then "and 3 more".
std::vector<std::string> describe(const std::vector<DeviceHolder>& holders,
                                  const PodNameOf& pod_name, std::size_t most = 8);

// Why there may be more holders than were found, and what to do; empty: all were seen.
std::string what_is_unseen(const DeviceHolders& found);

}  // namespace tranche::host
