#include "lab/demo/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace tranche::demo {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kIndent = "    ";
constexpr std::size_t kWordWidth = 11;
constexpr std::size_t kNarrowest = 40;
constexpr milliseconds kFrame{60};
constexpr milliseconds kShown{140};  // minimum time of a spinner
constexpr milliseconds kBreath{75};  // after a line
constexpr std::array<std::string_view, 10> kDots = {"⠋", "⠙", "⠹", "⠸", "⠼",
                                                    "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::array<std::string_view, 4> kSticks = {"|", "/", "-", "\\"};

constexpr std::string_view kBold = "1";
constexpr std::string_view kFaint = "2";
constexpr std::string_view kGreen = "32";
constexpr std::string_view kYellow = "33";
constexpr std::string_view kBlue = "1;36";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

void put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

Style choose_style(const Surroundings& s) {
  if (!s.terminal || s.plain) return {};
  const bool capable = !s.term.empty() && s.term != "dumb";
  std::string locale = s.locale;
  std::ranges::transform(locale, locale.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool utf8 =
      locale.find("UTF-8") != std::string::npos || locale.find("UTF8") != std::string::npos;
  Style style{.colour = capable && !s.no_color, .unicode = utf8, .live = capable};
  if (s.columns > 0) {
    const std::size_t room = s.columns > kIndent.size() ? s.columns - kIndent.size() : 0;
    style.width = std::clamp(room, kNarrowest, style.width);
  }
  return style;
}

Surroundings read_surroundings(bool plain) {
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return {.terminal = ::isatty(STDOUT_FILENO) == 1,
          .plain = plain,
          .no_color = !variable("NO_COLOR").empty(),
          .term = variable("TERM"),
          .locale = locale,
          .columns = size.ws_col};
}

Screen::Screen(Style style, bool pause, Interrupt& interrupt)
    : style_(style),
      pause_(pause),
      symbols_(style.unicode ? unicode_symbols() : ascii_symbols()),
      interrupt_(interrupt) {}

std::string Screen::paint(std::string_view code, std::string_view text) const {
  if (!style_.colour) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string Screen::strong(std::string_view text) const { return paint(kBold, text); }
std::string Screen::faint(std::string_view text) const { return paint(kFaint, text); }

std::string Screen::bar(int held, int total) const {
  return paint(kGreen, demo::bar(symbols_, held, total));
}

void Screen::title(std::string_view text) { put(fmt::format("\n{}\n", paint(kBlue, text))); }

bool Screen::step(std::string_view text) {
  if (pause_ && steps_ > 0) {
    put(fmt::format("\n{}", faint("    Enter for the next step ")));
    if (!interrupt_.wait_readable(STDIN_FILENO)) return false;
    char c = 0;
    while (::read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
    }
    if (::isatty(STDIN_FILENO) != 1) put("\n");
  }
  put(fmt::format("\n{}\n", paint(kBlue, fmt::format(" {}  {}", ++steps_, text))));
  breathe();
  return interrupt_.signal() == 0;
}

void Screen::heading(std::string_view text) { put(fmt::format("\n{}\n", paint(kBlue, text))); }

void Screen::line(std::string_view text) {
  put(text.empty() ? "\n" : fmt::format("{}{}\n", kIndent, text));
}

void Screen::note(std::string_view text) {
  for (const auto& one : wrap(text, style_.width)) line(faint(one));
  breathe();
}

void Screen::define(std::string_view word, std::string_view text) {
  std::string front = strong(pad(word, kWordWidth));
  for (const auto& one : wrap(text, style_.width - kWordWidth)) {
    line(front + faint(one));
    front = std::string(kWordWidth, ' ');
  }
}

void Screen::done(std::string_view text) {
  line(paint(kGreen, symbols_.tick) + " " + std::string(text));
  breathe();
}

void Screen::refused(std::string_view text) {
  const std::size_t room = width_of(symbols_.cross) + 1;
  std::string front = paint(kYellow, symbols_.cross) + " ";
  for (const auto& one : wrap(text, style_.width - room)) {
    line(front + one);
    front = std::string(room, ' ');
  }
  breathe();
}

Screen::Outcome Screen::wait(std::string_view what, const Poll& poll, milliseconds limit) {
  const auto start = Clock::now();
  const auto frames = style_.unicode ? std::span<const std::string_view>(kDots)
                                     : std::span<const std::string_view>(kSticks);
  bool there = false;
  std::size_t frame = 0;
  while (interrupt_.signal() == 0) {
    const auto gone = Clock::now() - start;
    if (there ? !style_.live || gone >= kShown : gone >= limit) break;
    if (style_.live) {
      put(fmt::format("\r\033[K{}{} {}", kIndent, paint(kBlue, frames[frame++ % frames.size()]),
                      faint(what)));
    }
    if (there) {
      interrupt_.wait(kFrame);
    } else {
      there = poll(kFrame);
    }
  }
  if (style_.live) put("\r\033[K");
  if (interrupt_.signal() != 0) return Outcome::kInterrupted;
  return there ? Outcome::kDone : Outcome::kTimeout;
}

void Screen::breathe() {
  if (style_.live) interrupt_.wait(kBreath);
}

}  // namespace tranche::demo
