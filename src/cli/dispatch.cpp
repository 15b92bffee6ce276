#include "cli/dispatch.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/edit_distance.h"
#include "cli/command.h"
#include "cli/help.h"

namespace tranche::cli {
namespace {

int unknown_command(std::string_view name) {
  std::vector<std::string_view> names = {"help"};
  for (const auto& command : commands()) names.push_back(command.name);
  const auto near = nearest(name, names);
  fmt::print(stderr, "tranche: unknown command '{}'{}; run 'tranche help' for the list\n", name,
             near ? fmt::format(", did you mean '{}'?", *near) : std::string());
  return 2;
}

}  // namespace

int dispatch(std::span<const std::string_view> argv,
             std::map<std::string, std::string> environment) {
  const auto called =
      argv.empty() ? std::string() : std::filesystem::path(argv[0]).filename().string();
  if (const auto* part = find_command(parts(), called)) {
    return part->run({part->name, argv.subspan(1), std::move(environment)});
  }
  if (argv.size() < 2 || argv[1] == "help" || argv[1] == "--help" || argv[1] == "-h") {
    fmt::print(argv.size() < 2 ? stderr : stdout, "{}", command_help(commands()));
    return argv.size() < 2 ? 2 : 0;
  }
  const bool version = argv[1] == "--version" || argv[1] == "-v";
  const auto* command = find_command(commands(), version ? "version" : argv[1]);
  if (command == nullptr) return unknown_command(argv[1]);
  const auto program = fmt::format("tranche {}", command->name);
  return command->run({program, argv.subspan(2), std::move(environment)});
}

}  // namespace tranche::cli
