#include "top/view/amounts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tranche::top {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;

std::string text_of_spans(const std::vector<Span>& spans) { return text_of(Line{spans}); }

TEST(Amounts, BytesAreExactToTheMebibyte) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1), "<1Mi");
  EXPECT_EQ(bytes_text(315 * kMebibyte), "315Mi");
  EXPECT_EQ(bytes_text(10239 * kMebibyte), "10239Mi");
  EXPECT_EQ(bytes_text(10240 * kMebibyte), "10.00Gi");
  EXPECT_EQ(bytes_text(143771 * kMebibyte), "140.40Gi");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::uint64_t>::max()), "16777216.0Ti");
}

TEST(Amounts, Shares) {
  EXPECT_EQ(share_text(0), "0%");
  EXPECT_EQ(share_text(0.001), "<1%");
  EXPECT_EQ(share_text(0.484), "48%");
  EXPECT_EQ(share_text(1), "100%");
  EXPECT_EQ(share_text(std::nan("")), "?");
  EXPECT_EQ(share_text(1e300), "9999%");
}

TEST(Amounts, Seconds) {
  EXPECT_EQ(seconds_text(0.42), "0.4s");
  EXPECT_EQ(seconds_text(42), "42s");
  EXPECT_EQ(seconds_text(600), "10m");
  EXPECT_EQ(seconds_text(-1), "0.0s");
}

TEST(Amounts, ABarIsAsWideAsItIsTold) {
  const Signs ascii{.ascii = true};
  const auto bar_text = [&](std::vector<double> amounts, double whole, std::size_t width) {
    std::vector<BarPart> parts;
    const std::string_view signs = "#h?";
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      parts.push_back({amounts[i], "x", signs.substr(i, 1)});
    }
    return text_of_spans(bar(parts, whole, width, ascii));
  };
  EXPECT_EQ(bar_text({5, 3, 2}, 10, 10), "#####hhh??");
  EXPECT_EQ(bar_text({5}, 10, 4), "##..");
  EXPECT_EQ(bar_text({0, 0, 0}, 10, 4), "....");
  // Whatever is there is seen, as long as there is room.
  EXPECT_EQ(bar_text({1, 1, 1}, 1000, 5), "#h?..");
  EXPECT_EQ(bar_text({1, 1, 1}, 3, 2), "#h");
  // A bar is never longer than the whole, whatever its parts say.
  EXPECT_EQ(bar_text({20, 20, 20}, 10, 4), "####");
  EXPECT_EQ(bar_text({-5, 5}, 10, 4), "hh..");
  EXPECT_EQ(bar_text({1}, 0, 4), "");
}

TEST(Amounts, APeakIsMarked) {
  EXPECT_EQ(text_of_spans(bar({{2, "x", "#"}}, 10, 10, {.ascii = true}, 8)), "##......|.");
}

TEST(Amounts, SparklinesHaveGaps) {
  EXPECT_EQ(sparkline({0.0, std::nullopt, 1.0, 0.5, std::nan("")}, {.ascii = true}), "_ #= ");
  EXPECT_EQ(sparkline({0.0, 1.0, 7.0, -1.0}, {}), "▁██▁");
}

TEST(Lines, AreFitted) {
  const Signs ascii{.ascii = true};
  EXPECT_EQ(fitted("abc", 5, Align::kLeft, ascii), "abc  ");
  EXPECT_EQ(fitted("abc", 5, Align::kRight, ascii), "  abc");
  EXPECT_EQ(fitted("abcdef", 4, Align::kLeft, ascii), "abc~");
  EXPECT_EQ(fitted("▁▂▃▄", 3, Align::kLeft, {}), "▁▂…");
  EXPECT_EQ(fitted("abc", 0, Align::kLeft, ascii), "");
}

TEST(Lines, AreWrapped) {
  const auto texts = [](const std::string& text, std::size_t width) {
    Line line;
    line.add(text);
    std::vector<std::string> result;
    for (const auto& one : wrapped(line, width)) result.push_back(text_of(one));
    return result;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts("one two three", 7), (Texts{"one two", "three"}));
  EXPECT_EQ(texts("one two three", 6), (Texts{"one", "two", "three"}));
  EXPECT_EQ(texts("abcdefgh", 3), (Texts{"abc", "def", "gh"}));
  EXPECT_EQ(texts("▁▂▃▄", 2), (Texts{"▁▂", "▃▄"}));
  EXPECT_EQ(texts("", 3), Texts{""});
}

}  // namespace
}  // namespace tranche::top
