#pragma once
// Which folders are those of this container's grant, as the kernel tells of the container's mounts.
//
// A grant mounts the library and the tenants' folders from one place on the node, <state dir>
// (docs/internals/limits.md, "What a container gets"). Who may write in the container can make
// /run/tranche/<id> with an arbiter of its own, or move the true one away. But what is mounted
// there cannot be made to come from <state dir>/tenants/<id>, where the library itself comes from,
// without CAP_SYS_ADMIN. So where the library is mounted, those mounts alone are tenants, wherever
// they stand.

namespace tranche::interpose {

inline constexpr const char* kLibraryMount = "/usr/local/tranche/libtranche-limit.so";

enum class Grant {
  kMounted,     // the folders that were told are the tenants
  kNotMounted,  // the library is not: it was preloaded by other means
  kUnreadable,  // the mounts cannot be read now
};

// Tells each folder of the grant, as a path in this process's root, to `tell`. One thread at a
// time.
Grant find_granted(void (*tell)(const char* folder));

}  // namespace tranche::interpose
