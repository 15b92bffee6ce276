#pragma once
// Functions of the libraries that are loaded, found in the libraries' own tables.
//
// dlsym is ours and cannot be asked for itself, and versions of what is looked for differ between C
// libraries. of_libc() calls no function of any other library: it is needed at a program's first
// dlsym, and the runtime of a sanitizer makes that one before strcmp and dl_iterate_phdr, which it
// stands before, can be called.

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace tranche::interpose {

// The address of `symbol`, as new programs bind to it, in the object that was loaded at `base` and
// has this dynamic section. nullptr: it defines no such function.
void* symbol_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* symbol);

// `symbol` of the C library, whose parts were several before glibc 2.34 (libdl, libpthread).
// nullptr: no part of it that is loaded has one.
void* of_libc(const char* symbol);

// A loaded object's tables; without symbols: of none.
struct Object {
  ElfW(Addr) base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Half) * versions = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};
// That of the object that `inside` is in, for several of its symbols. Asks the loader, and so waits
// for a library that is being loaded.
Object object_of(const void* inside);
void* symbol_of(const Object& object, const char* symbol);

// The file of the loaded object that `inside` is in, as the loader names it; nullptr: of none. The
// loader's dladdr would look at every symbol of it first.
const char* file_of(const void* inside);

// Whether the objects that begin at these addresses call themselves the same (DT_SONAME): copies of
// one library, wherever they lie and in whichever name space they were loaded.
bool has_same_soname(const void* one, const void* other);

}  // namespace tranche::interpose
