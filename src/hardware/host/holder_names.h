#pragma once
// Who has a GPU open, in words: the process and its Pod, so that who is called at night knows what
// to end. Names and commands are the processes' own choice; they are made printable.

#include <functional>
#include <string>
#include <vector>

#include "host/device_holders.h"
#include "host/process.h"

namespace tranche::host {

// "shop/train" of the Pod; "": not known.
using PodNameOf = std::function<std::string(const PodProcess&)>;

// "python (pid 4711, Pod shop/train)"; a Pod without a known name by its uid, and the container.
// A process of no Pod with its systemd unit, if it has one, and its command:
// "nv-hostengine (pid 12, nvidia-dcgm.service: /usr/bin/nv-hostengine -n)".
std::string describe(const DeviceHolder& holder, const PodNameOf& pod_name);

// One text for each holder, `most` at most, then "and 3 more".
std::vector<std::string> describe(const std::vector<DeviceHolder>& holders,
                                  const PodNameOf& pod_name, std::size_t most = 8);

// Why there may be more of them than were found, and what to do; empty: all were seen.
std::string what_is_unseen(const DeviceHolders& found);

}  // namespace tranche::host
