#include "lab/runtime/command_line.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tranche::lab {
namespace {

// Flags that take a value, before and after the command.
constexpr auto kWithValue = std::to_array<std::string_view>(
    {"--root", "--log", "--log-format", "--criu", "--rootless", "--bundle", "-b",
     "--console-socket", "--pid-file", "--preserve-fds"});

void take(std::string_view flag, std::string_view value, RuntimeCall& call) {
  if (flag == "--bundle" || flag == "-b") call.bundle = value;
  if (flag == "--log") call.log = value;
}

}  // namespace

RuntimeCall read_command_line(std::span<const std::string_view> arguments) {
  RuntimeCall call;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto argument = arguments[i];
    if (!argument.starts_with('-')) {
      if (call.command.empty()) call.command = argument;
      continue;
    }
    if (const auto equals = argument.find('='); equals != argument.npos) {
      take(argument.substr(0, equals), argument.substr(equals + 1), call);
    } else if (std::ranges::find(kWithValue, argument) != kWithValue.end() &&
               i + 1 < arguments.size()) {
      take(argument, arguments[++i], call);
    }
  }
  return call;
}

}  // namespace tranche::lab
