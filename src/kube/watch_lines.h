#pragma once
// A watch's stream, which comes in pieces of any size, as events: one JSON object a line.
// A value; holds the piece of a line that has come so far and no more.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"
#include "kube/request.h"

namespace tranche::kube {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // Appends the lines that `piece` completes to `lines`, without their ends; empty ones are
  // dropped. False when a line is longer than allowed.
  bool feed(std::string_view piece, std::vector<std::string>& lines);

 private:
  std::size_t longest_;
  std::string begun_;
};

// A line of a watch. An event of type ERROR is an Error; `expired` is set where it says 410.
struct WatchLine {
  cluster::WatchEvent event;
  bool expired = false;
};
Result<WatchLine> parse_watch_line(const Request& request, std::string_view line,
                                   std::string_view who);

}  // namespace tranche::kube
