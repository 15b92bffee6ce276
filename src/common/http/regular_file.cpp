#include "http/regular_file.h"

#include <system_error>

namespace tranche::http {
namespace {

constexpr int kAttempts = 3;

}  // namespace

Result<FileReading> read_regular(const FsRoot& root, const std::filesystem::path& file,
                                 std::size_t max_bytes) {
  using Type = std::filesystem::file_type;
  std::error_code error;  // observe() finds it as well, and says more
  const auto type = std::filesystem::status(root.resolve(file), error).type();
  if (type != Type::regular && type != Type::not_found && type != Type::none) {
    return fail(Code::kInvalidArgument, root.resolve(file).string() + " is no regular file");
  }
  auto reading = root.observe(file, max_bytes);
  for (int i = 1; i < kAttempts && reading && reading->being_written.value_or(false); ++i) {
    reading = root.observe(file, max_bytes);
  }
  return reading;
}

}  // namespace tranche::http
