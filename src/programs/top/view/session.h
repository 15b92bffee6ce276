#pragma once
// The live view: what a user has chosen, and what each key does. It makes whole frames, which the
// screen paints; it knows no terminal. Used by one thread.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "top/view/headline.h"
#include "top/view/history.h"
#include "top/view/line.h"
#include "top/view/reading.h"
#include "top/view/row.h"
#include "top/view/settings.h"

namespace tranche::top {

enum class Key {
  kCharacter,
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace,
  kClear,  // Ctrl-U
};

struct KeyPress {
  Key key = Key::kCharacter;
  char character = 0;  // of kCharacter
};

struct Size {
  std::size_t columns = 80;
  std::size_t lines = 24;
};

class Session {
 public:
  explicit Session(Settings settings) : settings_(std::move(settings)) {}

  // A new reading. While the view is paused it enters the history alone.
  void take(std::shared_ptr<const Reading> reading);
  // False: the user wants to end.
  bool press(const KeyPress& press);
  // Exactly `size.lines` lines, each exactly `size.columns` wide.
  std::vector<Line> frame(const Size& size, const Status& status);

  bool paused() const { return paused_; }
  const Settings& settings() const { return settings_; }

 private:
  enum class Prompt { kNone, kFilter, kFind };

  void press_in_view(const KeyPress& press);
  bool move(Key key);
  void choose(char character);
  void press_in_prompt(const KeyPress& press);
  void end_prompt();
  void find(bool forward, bool from_here);
  void next_sort();
  void close_or_open(bool close);
  void close_all();
  void make_rows();
  std::size_t cursor() const;  // its row
  void set_cursor(std::size_t row);
  std::vector<Line> above(const Size& size, const Status& status) const;
  std::vector<Line> table(const Size& size, std::size_t lines);
  Line footer(std::size_t columns) const;

  Settings settings_;
  History history_;
  std::shared_ptr<const Reading> reading_;  // null: none yet
  std::vector<Row> rows_;                   // of reading_
  std::string cursor_;                      // the row's id
  std::size_t last_cursor_ = 0;             // where it was, for when the row goes
  std::size_t first_ = 0;                   // the uppermost row that is shown
  std::size_t page_ = 1;                    // rows that were shown
  bool paused_ = false;
  bool help_ = false;
  std::size_t help_first_ = 0;
  Prompt prompt_ = Prompt::kNone;
  std::string typed_;
  std::string wanted_;     // what was searched for last
  std::string complaint_;  // about what was typed
};

// For a pipe or a file: everything, in lines as long as they are.
std::string page_text(const Reading& reading, const Settings& settings, const History& history,
                      const Status& status, std::size_t width);

}  // namespace tranche::top
