#pragma once
// What the library needs of the system besides libc's oldest functions.

#include <cstdint>

namespace tranche::interpose {

// Clock of the wire: CLOCK_MONOTONIC.
std::uint64_t now_ns();
void nap_ns(std::uint64_t ns);

// One line on stderr, "tranche: <text>", once for each `once` word (0 before; nullptr: always).
// A program's stderr is its own: only what makes its limits different from what was promised.
void say(const char* text, unsigned* once);

// The address of `symbol` as `library` exports it by default ("libc.so.6": how the file's name
// begins), from its own tables: neither dlsym, which is hooked, nor a version of it that the C
// library may not have. nullptr: no such library is loaded, or it has no such symbol.
void* exported(const char* library, const char* symbol);
// Several of one library, without a search for each: the library is the one that `inside` is in.
// `found[i]` is left as it is where there is no such symbol.
void exported_by(const void* inside, const char* const* symbols, unsigned count, void** found);
// One of the C library, whose parts were several before glibc 2.34 (libdl, libpthread).
void* of_libc(const char* symbol);

}  // namespace tranche::interpose
