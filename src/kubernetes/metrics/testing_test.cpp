// The reader of metrics/testing.h: that it reads, and that it refuses what the formats forbid.

#include "metrics/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>

#include "base/utf8.h"

namespace tranche::metrics {
namespace {

bool is_word(std::string_view text, bool colons) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (colons && c == ':');
  });
}

bool is_number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.e") != std::string::npos) return false;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && std::isfinite(number);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (!step.is_valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

class PageReader {
 public:
  PageReader(std::string_view text, Format format) : open_(format == Format::kOpenMetrics) {
    if (!is_utf8(text)) fault("no UTF-8");
    if (!text.empty() && !text.ends_with('\n')) fault("no newline at the end");
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line(std::string(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    end_family();
    if (open_ && !ended_) fault("no # EOF");
  }

  ReadPage take() { return std::move(page_); }

 private:
  void fault(std::string text) { page_.faults.push_back(std::move(text)); }

  void line(const std::string& text) {
    if (ended_) return fault("after # EOF: " + text);
    if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; })) {
      fault("control character: " + text);
    }
    if (open_ && text == "# EOF") {
      ended_ = true;
    } else if (text.starts_with("#")) {
      comment(text);
    } else {
      series(text);
    }
  }

  void comment(const std::string& text) {
    const std::string keyword = text.substr(0, 7);
    const std::size_t space = text.find(' ', 7);
    if (space == std::string::npos) return fault("comment: " + text);
    const std::string name = text.substr(7, space - 7);
    const std::string rest = text.substr(space + 1);
    if (keyword == "# HELP ") return begin_family(name);
    if (page_.families.empty() || name != page_.families.back().name) {
      return fault("not of this family: " + text);
    }
    ReadFamily& family = page_.families.back();
    if (!family.series.empty()) fault("head after series: " + text);
    std::string* part = keyword == "# TYPE "            ? &family.type
                        : open_ && keyword == "# UNIT " ? &family.unit
                                                        : nullptr;
    if (part == nullptr || !part->empty()) return fault("comment: " + text);
    *part = rest;
  }

  void begin_family(const std::string& name) {
    end_family();
    if (!is_word(name, true)) fault("name: " + name);
    if (!names_.insert(name).second) fault("family twice: " + name);
    page_.families.push_back({.name = name});
  }

  void end_family() {
    if (page_.families.empty()) return;
    const ReadFamily& family = page_.families.back();
    const std::set<std::string> types =
        open_ ? std::set<std::string>{"gauge", "counter", "unknown", "info"}
              : std::set<std::string>{"gauge", "counter"};
    if (!types.contains(family.type)) fault("type of " + family.name + ": " + family.type);
    if (family.series.empty()) fault("no series: " + family.name);
    if (!family.unit.empty() && !family.name.ends_with("_" + family.unit)) {
      fault("unit of " + family.name);
    }
    if (open_ && family.name.ends_with("_total")) fault("family in _total: " + family.name);
  }

  std::string series_name() const {
    if (page_.families.empty()) return "";
    const ReadFamily& family = page_.families.back();
    if (open_ && family.type == "counter") return family.name + "_total";
    return open_ && family.type == "info" ? family.name + "_info" : family.name;
  }

  void series(const std::string& text) {
    ReadSeries one;
    const std::size_t end = text.find_first_of("{ ");
    if (end == std::string::npos) return fault("line: " + text);
    one.name = text.substr(0, end);
    std::string_view rest = std::string_view(text).substr(end);
    if (rest[0] == '{' && !labels(rest, one)) return fault("labels: " + text);
    if (!rest.starts_with(' ')) return fault("line: " + text);
    one.value = rest.substr(1);
    if (!is_number(one.value)) fault("value: " + text);
    if (one.name != series_name()) return fault("not of this family: " + text);
    const std::string& type = page_.families.back().type;
    if (type == "counter" && one.value.starts_with('-')) fault("negative counter: " + text);
    if (type == "info" && one.value != "1") fault("info: " + text);
    if (!seen_.insert({one.name, one.labels}).second) fault("series twice: " + text);
    page_.families.back().series.push_back(std::move(one));
  }

  // Reads `{...}` off the front of `rest`.
  static bool labels(std::string_view& rest, ReadSeries& one) {
    do {
      rest.remove_prefix(1);
      const std::size_t equals = rest.find('=');
      if (equals == std::string_view::npos) return false;
      const std::string name(rest.substr(0, equals));
      rest.remove_prefix(equals + 1);
      const auto value = quoted(rest);
      if (!is_word(name, false) || !value || value->empty()) return false;
      if (!one.labels.emplace(name, *value).second || rest.empty()) return false;
    } while (rest[0] == ',');
    if (rest[0] != '}') return false;
    rest.remove_prefix(1);
    return true;
  }

  static std::optional<std::string> quoted(std::string_view& rest) {
    if (!rest.starts_with('"')) return std::nullopt;
    std::string value;
    for (std::size_t i = 1; i < rest.size(); ++i) {
      if (rest[i] == '"') return rest.remove_prefix(i + 1), value;
      if (rest[i] != '\\') {
        value += rest[i];
        continue;
      }
      if (++i == rest.size()) return std::nullopt;
      if (rest[i] != 'n' && rest[i] != '"' && rest[i] != '\\') return std::nullopt;
      value += rest[i] == 'n' ? '\n' : rest[i];
    }
    return std::nullopt;
  }

  bool open_;
  bool ended_ = false;
  std::set<std::string> names_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
  ReadPage page_;
};

}  // namespace

std::vector<ReadSeries> ReadPage::named(std::string_view name) const {
  std::vector<ReadSeries> found;
  for (const auto& family : families) {
    for (const auto& one : family.series) {
      if (one.name == name) found.push_back(one);
    }
  }
  return found;
}

std::string ReadPage::value(std::string_view name,
                            const std::map<std::string, std::string>& labels) const {
  std::vector<std::string> values;
  for (const auto& one : named(name)) {
    const bool matches = std::ranges::all_of(labels, [&](const auto& label) {
      const auto found = one.labels.find(label.first);
      return found != one.labels.end() && found->second == label.second;
    });
    if (matches) values.push_back(one.value);
  }
  return values.size() == 1 ? values[0] : std::to_string(values.size()) + " series";
}

std::size_t ReadPage::size() const {
  std::size_t lines = 0;
  for (const auto& family : families) lines += family.series.size();
  return lines;
}

ReadPage read_page(std::string_view text, Format format) { return PageReader(text, format).take(); }

namespace testing_test {
namespace {

constexpr auto kText = Format::kPrometheusText;
constexpr auto kOpen = Format::kOpenMetrics;

TEST(PageReader, Reads) {
  const auto page =
      read_page("# HELP a help\n# TYPE a gauge\na{b=\"c\\n\\\"\\\\\",d=\"}\"} 1.5\na 2\n", kText);
  EXPECT_EQ(page.faults, std::vector<std::string>{});
  EXPECT_EQ(page.named("a"), (std::vector<ReadSeries>{{"a", {{"b", "c\n\"\\"}, {"d", "}"}}, "1.5"},
                                                      {"a", {}, "2"}}));
}

struct Case {
  const char* name;
  Format format;
  std::string text;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class BadPages : public testing::TestWithParam<Case> {};

TEST_P(BadPages, AreRefused) {
  EXPECT_NE(read_page(GetParam().text, GetParam().format).faults, std::vector<std::string>{});
}

const std::string kHead = "# HELP a help\n# TYPE a gauge\n";

INSTANTIATE_TEST_SUITE_P(
    Each, BadPages,
    testing::Values(
        Case{"no_newline", kText, kHead + "a 1"}, Case{"no_end", kOpen, kHead + "a 1\n"},
        Case{"after_the_end", kOpen, kHead + "a 1\n# EOF\na{b=\"c\"} 1\n"},
        Case{"no_head", kText, "a 1\n"}, Case{"head_alone", kText, kHead},
        Case{"head_twice", kText, kHead + "a 1\n" + kHead + "a{b=\"c\"} 1\n"},
        Case{"interleaved", kText, kHead + "# HELP b help\n# TYPE b gauge\nb 1\na 1\n"},
        Case{"twice", kText, kHead + "a{b=\"c\",d=\"e\"} 1\na{d=\"e\",b=\"c\"} 2\n"},
        Case{"nan", kText, kHead + "a NaN\n"}, Case{"infinite", kText, kHead + "a +Inf\n"},
        Case{"no_value", kText, kHead + "a\n"}, Case{"timestamp", kText, kHead + "a 1 2\n"},
        Case{"unquoted", kText, kHead + "a{b=c} 1\n"},
        Case{"open_quote", kText, kHead + "a{b=\"c} 1\n"},
        Case{"unknown_escape", kText, kHead + "a{b=\"\\t\"} 1\n"},
        Case{"label_twice", kText, kHead + "a{b=\"c\",b=\"d\"} 1\n"},
        Case{"empty_label", kText, kHead + "a{b=\"\"} 1\n"},
        Case{"no_utf8", kText, kHead + "a{b=\"\xff\"} 1\n"},
        Case{"control_character", kText, kHead + "a{b=\"\x01\"} 1\n"},
        Case{"counter_without_total", kOpen, "# HELP a h\n# TYPE a counter\na 1\n# EOF\n"},
        Case{"family_in_total", kOpen,
             "# HELP a_total h\n# TYPE a_total unknown\na_total 1\n# EOF\n"},
        Case{"wrong_unit", kOpen, kHead + "# UNIT a seconds\na 1\n# EOF\n"},
        Case{"type_of_the_other_format", kText, "# HELP a h\n# TYPE a unknown\na 1\n"}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace testing_test
}  // namespace tranche::metrics
