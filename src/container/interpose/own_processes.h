#pragma once
// Whether a process that NVML lists belongs to this container, for use without an arbiter.
//
// NVML lists processes by pids of the caller's pid namespace or (older drivers) the node's,
// including those of other containers. A process visible under such a pid belongs to this container
// if it is in this process's mount namespace, or has the same tenant's folder mounted in its own:
// two containers never share these, whatever else they share (hostPID, shareProcessNamespace). If
// /proc does not show that, because the process belongs to another user, its control groups are
// compared instead. In doubt it is a foreign process.

namespace tranche::interpose {

// `folder`: the tenant's, as this process sees it.
bool is_of_this_container(unsigned pid, const char* folder);

}  // namespace tranche::interpose
