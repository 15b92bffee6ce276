#include "top/screen/terminal.h"

// Functions, not macros named as ours.
#define NCURSES_NOMACROS
#include <fmt/format.h>
#include <ncursesw/curses.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tranche::top {
namespace {

constexpr int kEscapeDelay = 50;  // ms within which the rest of a key's sequence arrives

struct Look {
  Style style;
  short dark;  // colour; -1: the terminal's own
  short light;
  unsigned long attribute;
};

// Told apart without red and green; what is bad is bold too.
constexpr Look kLooks[] = {
    {Style::kPlain, -1, -1, A_NORMAL},
    {Style::kDim, -1, -1, A_DIM},
    {Style::kStrong, -1, -1, A_BOLD},
    {Style::kHeader, COLOR_CYAN, COLOR_BLUE, A_BOLD},
    {Style::kGood, COLOR_CYAN, COLOR_BLUE, A_NORMAL},
    {Style::kWarning, COLOR_YELLOW, COLOR_MAGENTA, A_NORMAL},
    {Style::kBad, COLOR_RED, COLOR_RED, A_BOLD},
    {Style::kUnknown, COLOR_MAGENTA, COLOR_CYAN, A_NORMAL},
    {Style::kContainers, COLOR_CYAN, COLOR_BLUE, A_NORMAL},
    {Style::kHost, COLOR_GREEN, COLOR_GREEN, A_NORMAL},
    {Style::kUnattributed, COLOR_YELLOW, COLOR_MAGENTA, A_NORMAL},
    {Style::kReserved, -1, -1, A_DIM},
};

std::optional<Key> meaning_of(int key) {
  switch (key) {
    case KEY_UP:
      return Key::kUp;
    case KEY_DOWN:
      return Key::kDown;
    case KEY_LEFT:
      return Key::kLeft;
    case KEY_RIGHT:
      return Key::kRight;
    case KEY_PPAGE:
      return Key::kPageUp;
    case KEY_NPAGE:
      return Key::kPageDown;
    case KEY_HOME:
      return Key::kHome;
    case KEY_END:
      return Key::kEnd;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return Key::kEnter;
    case 27:
      return Key::kEscape;
    case KEY_BACKSPACE:
    case 127:
    case 8:
      return Key::kBackspace;
    case 21:
      return Key::kClear;
    default:
      return key >= ' ' && key <= '~' ? std::optional(Key::kCharacter) : std::nullopt;
  }
}

}  // namespace

struct Terminal::Ends {
  SCREEN* screen;
  explicit Ends(SCREEN* made) : screen(made) {}
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    endwin();
    delscreen(screen);
  }
};

Result<std::unique_ptr<Terminal>> Terminal::open(Theme theme) {
  // Unlike initscr(), newterm() does not end the process.
  auto* const screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* const type = std::getenv("TERM");
    return fail(Code::kFailedPrecondition,
                fmt::format("this terminal is not known here (TERM={})", type ? type : ""),
                "set TERM=xterm, or print once with -1");
  }
  std::unique_ptr<Terminal> terminal(new Terminal(std::make_unique<Ends>(screen)));
  set_escdelay(kEscapeDelay);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, true);
  curs_set(0);
  terminal->choose_looks(theme);
  return terminal;
}

Terminal::Terminal(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}
Terminal::~Terminal() = default;

void Terminal::choose_looks(Theme theme) {
  const bool colours = theme != Theme::kNone && has_colors() && start_color() == OK;
  if (colours) use_default_colors();
  short pair = 1;
  for (const auto& look : kLooks) {
    auto attribute = look.attribute;
    const short colour = theme == Theme::kLight ? look.light : look.dark;
    if (colours && colour >= 0 && init_pair(pair, colour, -1) == OK) {
      attribute |= static_cast<unsigned long>(COLOR_PAIR(pair));
      ++pair;
    }
    looks_[look.style] = attribute;
  }
}

Size Terminal::size() const {
  return {static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)),
          static_cast<std::size_t>(std::max(getmaxy(stdscr), 1))};
}

void Terminal::draw(const std::vector<Line>& lines) {
  werase(stdscr);
  int y = 0;
  for (const auto& line : lines) {
    wmove(stdscr, y++, 0);
    // Of a selected row the name alone: bars are read by their colours.
    bool reversed = line.selected;
    for (const auto& span : line.spans) {
      const auto found = looks_.find(span.style);
      const auto look = found == looks_.end() ? A_NORMAL : found->second;
      wattrset(stdscr, static_cast<int>(look | (reversed ? A_REVERSE : A_NORMAL)));
      // Fails at the lower right corner, where the cursor has nowhere to go; the sign is there.
      waddnstr(stdscr, span.text.c_str(), static_cast<int>(span.text.size()));
      reversed = false;
    }
  }
  wrefresh(stdscr);
}

std::optional<KeyPress> Terminal::next_key(std::chrono::milliseconds longest) {
  wtimeout(stdscr, static_cast<int>(longest.count()));
  const int key = wgetch(stdscr);
  if (key == ERR) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const bool ready = ::poll(&input, 1, 0) > 0;
    closed_ = ready && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    return std::nullopt;
  }
  const auto meaning = meaning_of(key);
  if (!meaning) return std::nullopt;
  return KeyPress{*meaning, *meaning == Key::kCharacter ? static_cast<char>(key) : '\0'};
}

}  // namespace tranche::top
