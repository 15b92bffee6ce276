#pragma once
// Amounts as people read them, bars and sparklines. What is unknown is "?", never 0.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "top/view/line.h"

namespace tranche::top {

inline constexpr std::string_view kUnknownText = "?";

// Exact to the MiB below 10 GiB ("512Mi", "8192Mi"), then "15.74Gi". What is less than a MiB and
// not 0 is "<1Mi".
std::string bytes_text(std::uint64_t bytes);
// 0 to 1: "48%"; "<1%" for less than half a percent that is not 0.
std::string share_text(double share);
// "0.4s", then as age_text() (base/amounts.h).
std::string seconds_text(double seconds);

// A number as style by how full something is: plain, a warning from 75 %, bad from 90 %.
Style style_of_fill(double part);

// A part of a bar: `amount` of the bar's whole.
struct BarPart {
  double amount = 0;
  std::string_view sign;   // one column
  std::string_view ascii;  // the same without UTF-8
  Style style = Style::kPlain;
};
// Exactly `width` columns for `whole`; every part that is not 0 has at least one column, as long as
// there are enough. `mark`: an amount that is marked with a line (a peak).
std::vector<Span> bar(const std::vector<BarPart>& parts, double whole, std::size_t width,
                      const Signs& signs, std::optional<double> mark = {});

// One column for each value of 0 to 1; nullopt is a gap.
std::string sparkline(const std::vector<std::optional<double>>& values, const Signs& signs);

}  // namespace tranche::top
