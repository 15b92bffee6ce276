#pragma once
// Finds the folders of this container's grant, from the kernel's list of the container's mounts.
//
// A grant mounts the library and the tenants' folders from one place on the node, <state dir>
// (docs/internals/limits.md, "What a container gets"). A user who can write in the container can
// create /run/tranche/<id> with their own arbiter, or move the true one away. But without
// CAP_SYS_ADMIN they cannot mount something else from <state dir>/tenants/<id>, where the library
// itself comes from. So if the library is mounted, only those mounts are tenants, wherever they
// are.

namespace tranche::interpose {

inline constexpr const char* kLibraryMount = "/usr/local/tranche/libtranche-limit.so";

enum class Grant {
  kMounted,     // the reported folders are the tenants
  kNotMounted,  // the library is not mounted: it was preloaded by other means
  kUnreadable,  // the mounts cannot be read now
};

// Passes each folder of the grant, as a path in this process's root, to `tell`. One thread at a
// time.
Grant find_granted(void (*tell)(const char* folder));

}  // namespace tranche::interpose
