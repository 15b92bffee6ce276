#include "interpose/part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>

#include "interpose/text.h"
#include "limit/part_format.h"
#include "limit/wire.h"

namespace tranche::interpose {

namespace format = limit::part_format;

namespace {

using std::size_t;

constexpr size_t kLongestLine = 96;
// Enough for 16 devices; a longer file is not one of these.
constexpr size_t kLongestFile = size_t{16} << 10U;

// -1: there is none. Skips what would block: a pipe put there by someone.
int open_part(const char* folder) {
  char path[160];
  const int length = snprintf(path, sizeof(path), "%s/%s", folder, format::kName);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
}

// Only digits, at most 19 of them; nothing else is a number of bytes.
bool parse_bytes(const char* text, std::uint64_t& bytes) {
  std::uint64_t value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && at - text < 19; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  if (at == text || *at != 0) return false;
  bytes = value;
  return true;
}

// Parses a line of a device: which, and how much.
bool parse_line(const char* line, unsigned char* uuid, std::uint64_t& memory) {
  const char* space = strchr(line, ' ');
  if (space == nullptr || !parse_uuid(line, uuid)) return false;
  if (!is_same(space + 1, format::kAll)) return parse_bytes(space + 1, memory);
  memory = limit::wire::kNoLimit;
  return true;
}

// Takes the file line by line.
class Reader {
 public:
  Reader(const unsigned char* uuid, std::uint64_t& memory) : uuid_(uuid), memory_(memory) {}

  // false: it is known, or cannot be one of these files.
  bool take(char c) {
    if (++taken_ > kLongestFile) answer_ = Promise::kUnreadable;
    if (taken_ > kLongestFile) return false;
    if (c != '\n') {
      if (length_ + 1 < sizeof(line_)) line_[length_] = c;
      ++length_;
      return true;
    }
    const bool goes_on = end_line();
    length_ = 0;
    return goes_on;
  }
  Promise answer() const { return answer_; }

 private:
  // A line that is too long or not understood is skipped: a later release's.
  bool end_line() {
    if (length_ >= sizeof(line_)) return answer_ != Promise::kUnreadable;
    line_[length_] = 0;
    if (answer_ == Promise::kUnreadable) {
      if (!is_same(line_, format::kFirstLine)) return false;
      answer_ = Promise::kNoPart;
      return true;
    }
    unsigned char uuid[16];
    std::uint64_t memory = 0;
    if (!parse_line(line_, uuid, memory) || memcmp(uuid, uuid_, sizeof(uuid)) != 0) return true;
    memory_ = memory;
    answer_ = Promise::kPart;
    return false;
  }

  const unsigned char* uuid_;
  std::uint64_t& memory_;
  char line_[kLongestLine] = {};
  size_t length_ = 0;
  size_t taken_ = 0;
  Promise answer_ = Promise::kUnreadable;
};

}  // namespace

Promise read_promise(const char* folder, const unsigned char* uuid, std::uint64_t& memory) {
  const int fd = open_part(folder);
  if (fd < 0) return Promise::kUnreadable;
  Reader reader(uuid, memory);
  char buffer[256];
  for (bool goes_on = true; goes_on;) {
    const auto count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    goes_on = count > 0;
    for (const char* c = buffer; goes_on && c != buffer + count; ++c) goes_on = reader.take(*c);
  }
  close(fd);
  return reader.answer();
}

bool parse_uuid(const char* text, unsigned char* bytes) {
  const char* at = strchr(text, '-');
  unsigned digits = 0;
  for (at = at != nullptr ? at + 1 : ""; *at != 0 && *at != ' ' && digits < 32; ++at) {
    if (*at == '-') continue;
    const char lower = static_cast<char>(*at | 0x20);
    const int value = *at >= '0' && *at <= '9'       ? *at - '0'
                      : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                     : -1;
    if (value < 0) return false;
    unsigned char& byte = bytes[digits / 2];
    byte = static_cast<unsigned char>(digits % 2 == 0 ? value << 4 : byte | value);
    ++digits;
  }
  return digits == 32;
}

}  // namespace tranche::interpose
