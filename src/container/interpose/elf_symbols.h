#pragma once
// Finds functions of loaded libraries in the libraries' own symbol tables.
//
// dlsym is ours and cannot be used to find itself, and symbol versions differ between C libraries.
// of_libc() calls no function of any other library: it is needed at a program's first dlsym. A
// sanitizer's runtime makes that call before strcmp and dl_iterate_phdr, which it intercepts, can
// be called.

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace tranche::interpose {

// The address of `symbol`, as new programs bind to it, in the object that was loaded at `base` with
// this dynamic section. nullptr: it defines no such function.
void* symbol_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* symbol);

// `symbol` of the C library, which consisted of several parts before glibc 2.34 (libdl,
// libpthread). nullptr: no loaded part has one.
void* of_libc(const char* symbol);

// A loaded object's tables; no symbols: no object.
struct Object {
  ElfW(Addr) base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Half) * versions = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};
// The object that contains `inside`, to look up several of its symbols. Asks the loader, and so
// waits for a library that is being loaded.
Object object_of(const void* inside);
void* symbol_of(const Object& object, const char* symbol);

// The file of the loaded object that contains `inside`, as named by the loader; nullptr: none. The
// loader's dladdr would scan all of its symbols first.
const char* file_of(const void* inside);

// Whether the objects loaded at these addresses have the same DT_SONAME: copies of one library,
// wherever they are and in whichever namespace they were loaded.
bool has_same_soname(const void* one, const void* other);

}  // namespace tranche::interpose
