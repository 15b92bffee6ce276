#pragma once
// Splits the stream of a watch, which arrives in pieces of any size, into events: one JSON object
// per line. A LineSplitter is a value; it only holds the unfinished line.

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

  // Appends the lines that `piece` completes to `lines`, without line ends and without empty lines.
  // False: a line is longer than allowed.
  bool feed(std::string_view piece, std::vector<std::string>& lines);

 private:
  std::size_t longest_;
  std::string begun_;
};

// One line of a watch's stream. An event of type ERROR (other than 410) is an Error.
struct WatchLine {
  cluster::WatchEvent event;
  bool expired = false;  // the server returned 410: the version is too old
};
Result<WatchLine> parse_watch_line(const Request& request, std::string_view line,
                                   std::string_view who);

}  // namespace tranche::kube
