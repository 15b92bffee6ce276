#pragma once
// The last minute of each device and container: how busy it was. Bounded: what a reading does not
// have any more is forgotten with it.
//
// By the time of the readings, so that a replay has the same history. Used by one thread.

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "top/view/reading.h"

namespace tranche::top {

// What a row is, in history and for the cursor: the same from one reading to the next.
std::string gpu_id(const std::string& node, const std::string& uuid);
std::string container_id(const std::string& node, const usage::ContainerFigures& container);

class History {
 public:
  static constexpr std::chrono::seconds kSpan{60};
  static constexpr std::size_t kMostRows = 20'000;
  static constexpr std::size_t kMostPoints = 240;

  void add(const Reading& reading);
  // Means of equal parts of the last minute, the newest last; nullopt: no figure in that part.
  std::vector<std::optional<double>> of(const std::string& id, std::size_t parts) const;

 private:
  using Time = std::chrono::system_clock::time_point;
  struct Point {
    Time at;
    std::optional<double> value;
  };
  struct Row {
    std::deque<Point> points{};
    std::size_t reading = 0;  // the last one that had it
  };
  void add(const std::string& id, std::optional<double> value);

  std::map<std::string, Row> rows_;
  Time now_{};
  std::size_t reading_ = 0;
};

}  // namespace tranche::top
