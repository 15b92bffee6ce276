#pragma once
// System services that the library needs besides libc's oldest functions.

#include <cstdint>

namespace tranche::interpose {

// The wire's clock: CLOCK_MONOTONIC.
std::uint64_t now_ns();
void nap_ns(std::uint64_t ns);

// say() prints one line on stderr, "tranche: <text>", once for each `once` word (0 before; nullptr:
// always).
// stderr belongs to the program: only report what makes its limits differ from the promise, and
// nothing once another file is open under its number.
// note_stderr() remembers where stderr leads now, before the program has closed and opened much.
void note_stderr();
void say(const char* text, unsigned* once);

}  // namespace tranche::interpose
