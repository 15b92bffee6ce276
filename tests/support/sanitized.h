#pragma once
// Whether this program is built with a sanitizer, and so several times as slow. What a sanitizer
// finds shows in the first steps; what a rule promises over a long time, the ordinary build shows.

namespace tranche::test {

#ifdef TRANCHE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tranche::test
