#include "lab/demo/screen.h"

#include <gtest/gtest.h>

namespace tranche::demo::screen_test {
namespace {

TEST(Style, FollowsTheTerminal) {
  struct Case {
    const char* name;
    Surroundings surroundings;
    Style style;
  };
  const Surroundings good{.terminal = true, .term = "xterm-256color", .locale = "en_US.UTF-8"};
  auto with = [&](auto change) {
    Surroundings s = good;
    change(s);
    return s;
  };
  const std::vector<Case> cases = {
      {"a terminal", good, {.colour = true, .unicode = true, .live = true}},
      {"a pipe", with([](auto& s) { s.terminal = false; }), {}},
      {"--plain", with([](auto& s) { s.plain = true; }), {}},
      {"NO_COLOR", with([](auto& s) { s.no_color = true; }), {.unicode = true, .live = true}},
      {"TERM=dumb", with([](auto& s) { s.term = "dumb"; }), {.unicode = true}},
      {"no TERM", with([](auto& s) { s.term = ""; }), {.unicode = true}},
      {"C.utf8", with([](auto& s) { s.locale = "C.utf8"; }), {true, true, true}},
      {"narrow", with([](auto& s) { s.columns = 80; }), {true, true, true, 76}},
      {"tiny", with([](auto& s) { s.columns = 3; }), {true, true, true, 40}},
      {"wide", with([](auto& s) { s.columns = 200; }), {true, true, true, 96}},
      {"POSIX", with([](auto& s) { s.locale = "C"; }), {.colour = true, .live = true}},
      {"no locale", with([](auto& s) { s.locale = ""; }), {.colour = true, .live = true}},
  };
  for (const auto& test : cases)
    EXPECT_EQ(choose_style(test.surroundings), test.style) << test.name;
}

}  // namespace
}  // namespace tranche::demo::screen_test
