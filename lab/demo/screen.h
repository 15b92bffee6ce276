#pragma once
// What the demo shows. On a terminal: colour, signs, a spinner while something is waited for, and
// short pauses so that eyes can follow. Elsewhere, and with --plain: ASCII lines and no pauses.
// Writes to stdout; main thread only.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "lab/demo/interrupt.h"
#include "lab/demo/text.h"

namespace tranche::demo {

struct Style {
  bool colour = false;
  bool unicode = false;
  bool live = false;       // spinner and pauses
  std::size_t width = 96;  // of broken lines, after the indent

  bool operator==(const Style&) const = default;
};

// Where the output goes, as far as it decides the style.
struct Surroundings {
  bool terminal = false;
  bool plain = false;     // --plain
  bool no_color = false;  // NO_COLOR is set and not empty (no-color.org)
  std::string term;       // TERM
  std::string locale;     // the first of LC_ALL, LC_CTYPE, LANG that is not empty
  unsigned columns = 0;   // of the terminal; 0: unknown
};

Style choose_style(const Surroundings& surroundings);
// Of this process.
Surroundings read_surroundings(bool plain);

class Screen {
 public:
  enum class Outcome { kDone, kTimeout, kInterrupted };
  // Waits for the condition up to the given time; true: it holds.
  using Poll = std::function<bool(std::chrono::milliseconds)>;

  // `pause`: before each step but the first, wait for Enter.
  Screen(Style style, bool pause, Interrupt& interrupt);

  const Symbols& symbols() const { return symbols_; }

  void title(std::string_view text);
  // A numbered heading. False when interrupted.
  bool step(std::string_view text);
  void heading(std::string_view text);
  void line(std::string_view text = {});
  // Explains; broken into lines.
  void note(std::string_view text);
  // `word`, then its explanation, broken into lines next to it.
  void define(std::string_view word, std::string_view text);
  // Something came about as expected; never broken, so `text` may be painted and in columns.
  void done(std::string_view text);
  // Something is refused or Pending, as the story wants it; broken into lines.
  void refused(std::string_view text);
  // Painted parts of a line.
  std::string strong(std::string_view text) const;
  std::string faint(std::string_view text) const;
  std::string bar(int held, int total) const;

  Outcome wait(std::string_view what, const Poll& poll,
               std::chrono::milliseconds limit = std::chrono::seconds(15));

 private:
  std::string paint(std::string_view code, std::string_view text) const;
  // Time for the reader, on a terminal.
  void breathe();

  const Style style_;
  const bool pause_;
  const Symbols& symbols_;
  Interrupt& interrupt_;
  int steps_ = 0;
};

}  // namespace tranche::demo
