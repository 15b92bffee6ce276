#pragma once
// The terminal, by ncurses: paints lines, reads keys, follows the window's size. One of a process;
// used by one thread. The terminal is as it was when this ends, also after SIGINT and SIGTERM.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "top/view/line.h"
#include "top/view/session.h"

namespace tranche::top {

enum class Theme { kNone, kDark, kLight };

class Terminal {
 public:
  // kFailedPrecondition: the terminal's type (TERM) is not known here.
  static Result<std::unique_ptr<Terminal>> open(Theme theme);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const;
  void draw(const std::vector<Line>& lines);
  // nullopt: none within that time, or one without a meaning, or the size changed.
  std::optional<KeyPress> next_key(std::chrono::milliseconds longest);
  // The terminal is gone.
  bool closed() const { return closed_; }

 private:
  struct Ends;
  explicit Terminal(std::unique_ptr<Ends> ends);
  void choose_looks(Theme theme);

  std::unique_ptr<Ends> ends_;
  std::map<Style, unsigned long> looks_;  // attributes of ncurses
  bool closed_ = false;
};

}  // namespace tranche::top
