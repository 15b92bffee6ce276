// tranche reference FOLDER | --man FOLDER: the generated pages of docs/reference and docs/man.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/man_page.h"
#include "cli/shell/reference.h"
#include "cluster/formats/reasons.h"
#include "config/programs/reference.h"
#include "labels/reference.h"

namespace tranche::cli {
namespace {

using Pages = std::vector<std::pair<std::string, std::string>>;  // file name, text

Pages reference_pages() {
  return {
      {"flags.md", config::reference_flags()},
      {"environment.md", config::reference_environment()},
      {"config-file.md", config::reference_config_file()},
      {"labels.md", labels::render_reference()},
      {"events.md", cluster::render_reasons()},
      {"commands.md", reference_commands()},
  };
}

Pages man_pages() {
  Pages pages{{"tranche.1", man_overview(commands())}};
  for (const auto& command : commands()) {
    if (!has_man_page(command)) continue;
    pages.emplace_back(fmt::format("tranche-{}.1", command.name), man_page(command, commands()));
  }
  return pages;
}

}  // namespace

int run_reference_command(const Invocation& invocation) {
  auto arguments = invocation.arguments;
  const bool man = !arguments.empty() && arguments.front() == "--man";
  if (man) arguments = arguments.subspan(1);
  if (arguments.size() != 1) {
    fmt::print(stderr,
               "{}: name the folder to write to, such as docs/reference, or --man docs/man\n",
               invocation.program);
    return 2;
  }
  const auto folder = std::filesystem::absolute(arguments[0]);
  const FsRoot fs;
  for (const auto& [name, text] : man ? man_pages() : reference_pages()) {
    if (const auto written = fs.write_atomic(folder / name, text); !written) {
      fmt::print(stderr, "{}: {}\n", invocation.program, written.error().message());
      return 1;
    }
    fmt::print("wrote {}\n", (folder / name).string());
  }
  return 0;
}

}  // namespace tranche::cli
