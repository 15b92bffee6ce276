#pragma once
// Whether this program is built with a sanitizer, and so several times as slow. What a sanitizer
// finds shows in the first steps; what a rule promises over a long time, the ordinary build shows.

namespace tranche::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tranche::test
