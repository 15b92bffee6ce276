#include <cerrno>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/dispatch.h"

extern char** environ;

namespace {

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

// fmt throws if output fails, and for buffered output this is only known at the end. Output that is
// kept, as of `tranche layout export`, must not be mistaken for complete.
int run(const std::vector<std::string_view>& arguments) {
  std::error_code trouble;
  try {
    const int code = tranche::cli::dispatch(arguments, read_environment());
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    trouble = {errno, std::generic_category()};
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;
    trouble = error.code();
  }
  // Not with fmt, which might throw again.
  const auto text = "tranche: the output cannot be written: " + trouble.message() + "\n";
  std::fputs(text.c_str(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv, argv + argc);
  return run(arguments);
}
