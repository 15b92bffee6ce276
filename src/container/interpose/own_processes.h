#pragma once
// Whether a process that NVML names is of this container, where no arbiter tells.
//
// NVML names processes by ids of the caller's process name space, or (older drivers) of the node's,
// and those of other containers with them. A process that can be seen under such an id is of this
// container if it is in this process's mount name space, or has the same tenant's folder mounted in
// its own: two containers never share these, whatever else they share (hostPID,
// shareProcessNamespace). Where /proc does not let that be seen, for the process is another user's,
// its control groups are compared instead. In doubt it is a stranger.

namespace tranche::interpose {

// `folder`: the tenant's, as this process sees it.
bool is_of_this_container(unsigned pid, const char* folder);

}  // namespace tranche::interpose
