#include "lab/demo/options.h"

#include <fmt/format.h>

#include "base/edit_distance.h"

namespace tranche::demo {

Result<Options> parse_options(std::span<const std::string_view> arguments) {
  Options options;
  for (const auto argument : arguments) {
    if (argument == "--plain") {
      options.plain = true;
    } else if (argument == "--keep") {
      options.keep = true;
    } else if (argument == "--pause") {
      options.pause = true;
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else {
      static constexpr std::string_view kKnown[] = {"--plain", "--keep", "--pause", "--help"};
      const auto near = nearest(argument, kKnown);
      return fail(Code::kInvalidArgument,
                  fmt::format("unknown argument '{}'", argument.substr(0, 80)),
                  fmt::format("{}see tranche-demo --help",
                              near ? fmt::format("did you mean {}? ", *near) : ""));
    }
  }
  return options;
}

std::string_view help_text() {
  return "tranche-demo [--plain] [--pause] [--keep]\n"
         "\n"
         "Two agents on simulated GPUs turn 2 schedulable GPUs into 4 and then 11. Needs no GPU, "
         "no\n"
         "Kubernetes and no rights; leaves nothing behind.\n"
         "\n"
         "  --plain   plain text, as when the output is no terminal (NO_COLOR is respected too)\n"
         "  --pause   wait for Enter between the steps\n"
         "  --keep    keep the folder with both nodes' files and tell where it is\n"
         "\n"
         "Examples:\n"
         "  tranche-demo --pause            step by step\n"
         "  tranche-demo --plain > story    as text\n"
         "\n"
         "Exit codes: 0 all came about as told, 1 something did not, 2 wrong usage,\n"
         "128 + n ended by signal n.\n";
}

}  // namespace tranche::demo
