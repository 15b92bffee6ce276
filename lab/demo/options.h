#pragma once
// The command line of tranche-demo.

#include <span>
#include <string_view>

#include "base/result.h"

namespace tranche::demo {

struct Options {
  bool plain = false;
  bool keep = false;
  bool pause = false;
  bool help = false;

  bool operator==(const Options&) const = default;
};

// kInvalidArgument for anything except its flags.
Result<Options> parse_options(std::span<const std::string_view> arguments);

std::string_view help_text();

}  // namespace tranche::demo
