#pragma once
// Amounts as people read them. The view of `tranche top` has shorter forms of its own
// (top/view/amounts.h).

#include <cstdint>
#include <string>

namespace tranche {

// "64 KiB", "512 MiB", "2 GiB", "7.2 GiB".
std::string size_text(std::uint64_t bytes);
// "12s", "3m", "5h", "2d"; at least two of each unit. Less than 0 is 0.
std::string age_text(std::int64_t seconds);

}  // namespace tranche
