#pragma once
// Writes a page of metrics: Prometheus' text format 0.0.4, or OpenMetrics 1.0. Owned by one thread.
// Both demand that the lines of a family stand together; here a family ends where the next begins.
//
// What is in labels may come from anybody. In both formats one bad byte makes Prometheus refuse the
// whole page, so bytes that are no UTF-8, and control characters, become U+FFFD.

#include <cstddef>
#include <string>
#include <string_view>

#include "metrics/format.h"
#include "metrics/value.h"

namespace tranche::metrics {

enum class Type {
  kGauge,
  // OpenMetrics has counters only with names in _total. A counter of another name is `unknown`
  // there: as a gauge, one would believe that it may fall.
  kCounter,
  kInfo,  // always 1, in _info; Prometheus' text knows it as a gauge
};

struct Family {
  std::string_view name;  // of its lines, so with _total
  Type type = Type::kGauge;
  std::string_view help;
  // For OpenMetrics; the name, without _total, must end with it: "seconds". Empty: none.
  std::string_view unit{};
};

// The labels of a line, escaped: `pod="a",container="b"`. Two series are the same if this text is.
class LabelText {
 public:
  // An empty value is no label: Prometheus makes no difference between the two.
  LabelText& add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Exposition {
 public:
  // `expected_bytes` are set aside for the page at once. A page that grew by doubling would touch
  // three times its size of fresh memory, and page faults would cost more than all the writing.
  explicit Exposition(Format format, std::size_t expected_bytes = 0);

  // Begins a family; its head is written with its first line. Each name once a page.
  void family(const Family& family);
  // A line of the family; `labels` as LabelText makes them. Not written: a value that is not
  // finite.
  void line(std::string_view labels, const Value& value);

  std::size_t lines() const { return lines_; }
  // The page. Nothing can be added afterwards.
  std::string finish() &&;

 private:
  void write_head();

  Format format_;
  Family family_{};
  bool head_due_ = false;
  std::size_t lines_ = 0;
  std::string out_;
};

}  // namespace tranche::metrics
