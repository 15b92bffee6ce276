#include "agent/config/reading_mark.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "base/checksum.h"

namespace tranche::agent {
namespace {

constexpr std::size_t kLongestMark = 64;

std::string digest_of(std::string_view text) {
  return fmt::format("{:016x}", checksum(fmt::format("{}\n{}", TRANCHE_VERSION, text)));
}

// How many processes have begun to read the text with this digest, by the content of the file.
int tries_of(std::string_view content, std::string_view digest) {
  const auto space = content.find(' ');
  const auto end = content.find('\n');
  if (space != digest.size() || end == std::string_view::npos) return 1;
  int tries = 0;
  const auto* last = content.data() + end;
  const auto [stop, error] = std::from_chars(content.data() + space + 1, last, tries);
  if (error != std::errc() || stop != last || tries < 1) return 1;
  return content.starts_with(digest) ? tries : 0;
}

}  // namespace

Result<void> ReadingMark::begin(std::string_view text, std::string_view name) const {
  const auto digest = digest_of(text);
  const auto content = fs_.read(file_, kLongestMark);
  const bool none = !content && content.error().code == Code::kNotFound;
  const int tries = none ? 0 : tries_of(content.value_or(""), digest);
  if (tries >= kMostTries) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: reading it has ended this program {} times", name, tries),
                fmt::format("is the program's memory limited too low? Change the text to have it "
                            "read again, or remove {}",
                            file_.string()));
  }
  (void)fs_.write_atomic(file_, fmt::format("{} {}\n", digest, tries + 1), 0600);
  return {};
}

void ReadingMark::end() const { (void)fs_.remove(file_); }

}  // namespace tranche::agent
