#include "lab/demo/options.h"

#include <fmt/format.h>

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
      return fail(Code::kInvalidArgument, fmt::format("unknown argument '{}'", argument),
                  "see tranche-demo --help");
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
         "Exit codes: 0 all came about as told, 1 something did not, 2 wrong usage,\n"
         "128 + n ended by signal n.\n";
}

}  // namespace tranche::demo
