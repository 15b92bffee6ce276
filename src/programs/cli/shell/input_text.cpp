#include "cli/shell/input_text.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/fs.h"

namespace tranche::cli {
namespace {

Result<std::string> standard_input(std::size_t longest) {
  std::string text;
  for (std::istreambuf_iterator<char> in(std::cin), end; in != end; ++in) {
    if (text.size() == longest) {
      return fail(Code::kInvalidArgument,
                  fmt::format("standard input is longer than {} bytes", longest));
    }
    text += *in;
  }
  return text;
}

}  // namespace

Result<std::string> input_text(const std::string& path, std::size_t longest) {
  if (path == "-") return standard_input(longest);
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  auto text = FsRoot().read(error ? std::filesystem::path(path) : full, longest);
  if (text) return text;
  return fail(Code::kInvalidArgument, text.error().what, text.error().hint);
}

}  // namespace tranche::cli
