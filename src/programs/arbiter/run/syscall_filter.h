#pragma once
// Restricts the arbiter's system calls from this point on until it ends.
//
// The arbiter runs as root and sees the node's processes, so it could end or change any other
// process of root. It reads what tenants wrote, so it may be compromised. A kernel filter
// (seccomp(2)) refuses with EPERM what it does not need: signals to others, reading and writing
// other processes' memory, new programs, mounts and namespaces, modules, and ways around a filter
// (io_uring).
//
// It is a deny list, not an allow list: NVIDIA's libraries are not ours, and their system calls
// change. So this restricts what a compromised arbiter can do, but is no sandbox.

#include "base/result.h"

namespace tranche::arbiter {

// For all threads of this process and those that they create, permanently. Requires no privilege.
// Errors: the kernel has no such filters (CONFIG_SECCOMP_FILTER), or another filter forbids them.
Result<void> refuse_unused_syscalls();

}  // namespace tranche::arbiter
