#include "host/file_locks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/lines.h"

namespace tranche::host {
namespace {

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  while (true) {
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return columns;
    line.remove_prefix(begin);
    const auto end = std::min(line.find(' '), line.size());
    columns.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// As the table writes a file: the numbers of its device in hexadecimal, and its inode.
std::optional<std::string> shown(std::string_view device, ino_t inode) {
  const auto colon = device.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto major = number_of<unsigned>(device.substr(0, colon));
  const auto minor = number_of<unsigned>(device.substr(colon + 1));
  if (!major || !minor) return std::nullopt;
  return fmt::format("{:02x}:{:02x}:{}", *major, *minor, inode);
}

}  // namespace

std::optional<pid_t> holder_of(std::string_view locks, std::string_view device, ino_t inode) {
  const auto file = shown(device, inode);
  while (file && !locks.empty()) {
    // "1: FLOCK ADVISORY WRITE 4711 00:17:9876 0 EOF"; a waiting process is "1: -> FLOCK ...".
    const auto columns = columns_of(take_line(locks));
    if (columns.size() < 6 || columns[1] != "FLOCK" || columns[3] != "WRITE") continue;
    if (columns[5] != *file) continue;
    const auto pid = number_of<pid_t>(columns[4]);
    if (pid && *pid > 0) return pid;
  }
  return std::nullopt;
}

}  // namespace tranche::host
