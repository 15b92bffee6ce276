#include "top/view/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "top/view/filter_node.h"
#include "top/view/tree.h"

namespace tranche::top {
namespace {

constexpr std::size_t kLongestTyped = Filter::kLongest;

}  // namespace

void Session::take(std::shared_ptr<const Reading> reading) {
  history_.add(*reading);
  if (paused_ && reading_) return;
  reading_ = std::move(reading);
  make_rows();
}

void Session::make_rows() { rows_ = reading_ ? rows_of(*reading_, settings_) : std::vector<Row>(); }

std::size_t Session::cursor() const {
  const auto found = std::ranges::find(rows_, cursor_, &Row::id);
  if (found != rows_.end()) return static_cast<std::size_t>(found - rows_.begin());
  return rows_.empty() ? 0 : std::min(last_cursor_, rows_.size() - 1);
}

void Session::set_cursor(std::size_t row) {
  if (rows_.empty()) return;
  last_cursor_ = std::min(row, rows_.size() - 1);
  cursor_ = rows_[last_cursor_].id;
}

bool Session::press(const KeyPress& press) {
  complaint_.clear();
  if (prompt_ != Prompt::kNone) {
    press_in_prompt(press);
    return true;
  }
  if (press.key == Key::kCharacter && press.character == 'q' && !help_) return false;
  press_in_view(press);
  return true;
}

void Session::press_in_view(const KeyPress& press) {
  if (help_) {
    if (press.key == Key::kDown || press.key == Key::kPageDown) {
      help_first_ += press.key == Key::kDown ? 1 : page_;
    } else if (press.key == Key::kUp || press.key == Key::kPageUp) {
      help_first_ -= std::min(help_first_, press.key == Key::kUp ? 1 : page_);
    } else {
      help_ = false;
    }
    return;
  }
  if (move(press.key)) return;
  if (press.key == Key::kEscape) {
    settings_.filter.reset();
    wanted_.clear();
    make_rows();
  } else if (press.key == Key::kCharacter) {
    choose(press.character);
  }
}

bool Session::move(Key key) {
  const auto at = cursor();
  switch (key) {
    case Key::kUp:
      set_cursor(at - std::min<std::size_t>(at, 1));
      return true;
    case Key::kDown:
      set_cursor(at + 1);
      return true;
    case Key::kPageUp:
      set_cursor(at - std::min(at, page_));
      return true;
    case Key::kPageDown:
      set_cursor(at + page_);
      return true;
    case Key::kHome:
      set_cursor(0);
      return true;
    case Key::kEnd:
      set_cursor(rows_.size());
      return true;
    case Key::kLeft:
      close_or_open(true);
      return true;
    case Key::kRight:
      close_or_open(false);
      return true;
    case Key::kEnter:
      if (!rows_.empty()) close_or_open(!rows_[at].closed);
      return true;
    default:
      return false;
  }
}

void Session::choose(char character) {
  switch (character) {
    case 'k':
      return void(move(Key::kUp));
    case 'j':
      return void(move(Key::kDown));
    case 'g':
      return set_cursor(0);
    case 'G':
      return set_cursor(rows_.size());
    case 'n':
      return find(true, false);
    case 'N':
      return find(false, false);
    case '/':
      prompt_ = Prompt::kFilter;
      typed_ = settings_.filter ? printable(settings_.filter->text()) : "";
      return;
    case 'f':
      prompt_ = Prompt::kFind;
      typed_.clear();
      return;
    case '?':
    case 'h':
      help_ = true;
      help_first_ = 0;
      return;
    case ' ':
      paused_ = !paused_;
      return;
    case 'C':
      return close_all();
    case 's':
      next_sort();
      break;
    case 'r':
      settings_.reverse = !settings_.reverse;
      break;
    case 't':
      settings_.tree = !settings_.tree;
      break;
    case 'x':
      settings_.processes = !settings_.processes;
      break;
    default:
      return;
  }
  make_rows();
}

void Session::next_sort() {
  constexpr Sort kOrder[] = {Sort::kName, Sort::kMemory, Sort::kCompute, Sort::kWait};
  const auto* const found = std::ranges::find(kOrder, settings_.sort);
  settings_.sort = found + 1 == std::end(kOrder) ? kOrder[0] : found[1];
}

// Closing what has nothing below it, or is closed, goes to what it is part of.
void Session::close_or_open(bool close) {
  if (rows_.empty()) return;
  const auto at = cursor();
  const auto& row = rows_[at];
  if (close && (!row.has_children || row.closed)) {
    for (auto i = at; i-- > 0;) {
      if (rows_[i].depth >= row.depth) continue;
      set_cursor(i);
      return;
    }
    return;
  }
  set_cursor(at);
  if (close) {
    settings_.closed.insert(row.id);
  } else {
    settings_.closed.erase(row.id);
  }
  make_rows();
}

void Session::close_all() {
  if (!settings_.closed.empty()) {
    settings_.closed.clear();
  } else {
    for (const auto& row : rows_) {
      const bool closes = row.kind == RowKind::kNode || row.kind == RowKind::kGpu;
      if (closes && row.has_children) settings_.closed.insert(row.id);
    }
  }
  make_rows();
}

void Session::press_in_prompt(const KeyPress& press) {
  switch (press.key) {
    case Key::kEnter:
      return end_prompt();
    case Key::kEscape:
      prompt_ = Prompt::kNone;
      return;
    case Key::kBackspace:
      if (!typed_.empty()) typed_.pop_back();
      return;
    case Key::kClear:
      return typed_.clear();
    case Key::kCharacter: {
      const bool fits = press.character >= ' ' && press.character <= '~';
      if (fits && typed_.size() < kLongestTyped) typed_ += press.character;
      return;
    }
    default:
      return;
  }
}

void Session::end_prompt() {
  if (prompt_ == Prompt::kFind) {
    wanted_ = lower_case(typed_);
    prompt_ = Prompt::kNone;
    return find(true, true);
  }
  if (typed_.find_first_not_of(' ') == std::string::npos) {
    settings_.filter.reset();
  } else {
    auto filter = Filter::parse(typed_);
    if (!filter) {
      complaint_ = filter.error().message();
      return;
    }
    settings_.filter = *std::move(filter);
  }
  prompt_ = Prompt::kNone;
  make_rows();
}

void Session::find(bool forward, bool from_here) {
  if (wanted_.empty()) return;
  const auto count = rows_.size();
  const auto at = cursor();
  for (std::size_t i = from_here ? 0 : 1; i <= count && count > 0; ++i) {
    const auto row = forward ? (at + i) % count : (at + count - i % count) % count;
    if (lower_case(name_of(rows_[row])).find(wanted_) == std::string::npos) continue;
    set_cursor(row);
    return;
  }
  complaint_ = fmt::format("nothing here is called '{}'", wanted_);
}

}  // namespace tranche::top
