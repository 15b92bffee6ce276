// tranche-demo: two agents on simulated GPUs, from 2 schedulable GPUs to 11 tranches. What
// `make demo` runs; docs/demo.md.

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <vector>

#include "lab/demo/options.h"
#include "lab/demo/screen.h"
#include "lab/demo/story.h"
#include "lab/demo/workspace.h"

namespace {

using namespace tranche::demo;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int complain(const tranche::Error& error) {
  fmt::print(stderr, "tranche-demo: {}\n", error.message());
  return kFailed;
}

// Everything is stopped and removed when this returns.
int play(const Options& options, Interrupt& interrupt) {
  const auto folder = own_folder();
  if (!folder) return complain(folder.error());
  const auto programs = Programs::find(*folder);
  if (!programs) return complain(programs.error());
  auto workspace = Workspace::make();
  if (!workspace) return complain(workspace.error());
  if (options.keep) workspace->keep();

  Screen screen(choose_style(read_surroundings(options.plain)), options.pause, interrupt);
  Story story(screen, *programs, workspace->path());
  const auto played = story.play();
  if (options.keep) fmt::print("    Files kept in {}\n\n", workspace->path().string());
  if (played) return 0;
  std::fflush(stdout);
  if (const int signal = interrupt.signal(); signal != 0) {
    fmt::print(stderr, "\ntranche-demo: interrupted; agents are ended{}\n",
               options.keep ? "" : ", files are removed");
    return 128 + signal;
  }
  complain(played.error());
  fmt::print(stderr, "{}{}", story.agent_logs(),
             options.keep ? "" : "--- run it again with --keep to look at the files\n");
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const auto options = parse_options(arguments);
  if (!options) {
    complain(options.error());
    return kUsage;
  }
  if (options->help) {
    fmt::print("{}", help_text());
    return 0;
  }
  auto interrupt = Interrupt::open();
  if (!interrupt) return complain(interrupt.error());
  return play(*options, *interrupt);
}
