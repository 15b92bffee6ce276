#pragma once
// What the library needs of the system besides libc's oldest functions.

#include <cstdint>

namespace tranche::interpose {

// Clock of the wire: CLOCK_MONOTONIC.
std::uint64_t now_ns();
void nap_ns(std::uint64_t ns);

// One line on stderr, "tranche: <text>", once for each `once` word (0 before; nullptr: always).
// A program's stderr is its own: only what makes its limits different from what was promised, and
// nothing once another file is open under its number.
// Where stderr leads now is where it will be written: before the program has closed and opened
// much.
void note_stderr();
void say(const char* text, unsigned* once);

}  // namespace tranche::interpose
