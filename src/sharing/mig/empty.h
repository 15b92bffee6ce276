#pragma once
// Whether a reader accepts an empty text or list.

namespace tranche::mig {

enum class Empty { kRefused, kAllowed };

}  // namespace tranche::mig
