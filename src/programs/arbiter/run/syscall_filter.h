#pragma once
// What the arbiter's process may not ask of the kernel, from a moment on until it ends.
//
// The arbiter runs as root and sees the node's processes, so it could end or change any other
// process of root. It reads what tenants wrote, so it may be taken over. A filter of the kernel
// (seccomp(2)) refuses with EPERM what it has no use for: signals to others, looking into and
// writing to other processes, new programs, mounts and namespaces, modules, and ways around a
// filter (io_uring).
//
// A list of what is refused, not of what is let through: NVIDIA's libraries are not ours, and what
// they call changes. So this narrows what a taken-over arbiter can do, and is no sandbox.

#include "base/result.h"

namespace tranche::arbiter {

// For all threads of this process and those that they make, for good. Takes no privilege.
// Errors: the kernel has no such filters (CONFIG_SECCOMP_FILTER), or another filter forbids them.
Result<void> refuse_unused_syscalls();

}  // namespace tranche::arbiter
