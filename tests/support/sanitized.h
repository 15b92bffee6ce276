#pragma once
// Whether this program is built with a sanitizer, and so several times as slow. A sanitizer's
// findings show in the first steps; the ordinary build shows rules that hold over a long time.

namespace tranche::test {

#ifdef TRANCHE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tranche::test
