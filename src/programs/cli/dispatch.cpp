#include "cli/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/complete.h"
#include "cli/shell/help.h"

namespace tranche::cli {
namespace {

using Words = std::span<const std::string_view>;
using Environment = std::map<std::string, std::string>;

bool asks_for_help(std::string_view word) {
  return word == "help" || word == "--help" || word == "-h";
}

// What a later release will answer, and what does meanwhile.
struct Planned {
  std::string_view name;
  std::string_view meanwhile;
};
constexpr std::array kPlanned = {
    Planned{"explain",
            "kubectl -n NAMESPACE describe pod POD has the Events that say why it waits; "
            "tranche lint --cluster FILE says what is wrong in its manifest"},
    Planned{"free", "tranche report shows how many tranches of each kind are free"},
    Planned{"cost", "kubectl get gpunodes -o json has the holdings of each Pod"},
};

int unknown_command(std::string_view name, std::string_view root) {
  if (const auto* planned = std::ranges::find(kPlanned, name, &Planned::name);
      planned != kPlanned.end()) {
    fmt::print(stderr, "{}: \"{}\" is planned, and not in this release; meanwhile {}\n", root, name,
               planned->meanwhile);
    return kExitUsage;
  }
  std::vector<std::string_view> names = {"help"};
  for (const auto& command : commands()) names.push_back(command.name);
  fmt::print(stderr, "{0}: unknown command \"{1}\"{2}\nRun '{0} help' for the list.\n", root,
             name.substr(0, 80), suggestion(name, names, "there is none of this name"));
  return kExitUsage;
}

int run(const Command& command, std::string_view program, Words arguments,
        Environment environment) {
  // `tranche limit help set` is as `tranche limit set --help`.
  if (!command.words.empty() && !arguments.empty() && arguments[0] == "help") {
    const auto* word = arguments.size() > 1 ? find_word(command, arguments[1]) : nullptr;
    fmt::print("{}", help_of(command, word, program));
    return kExitFine;
  }
  const int code = run_of(command)({command, program, arguments, std::move(environment)});
  return command.nvidias_exit_codes && code == kExitUsage ? kExitFinding : code;
}

}  // namespace

int dispatch(std::span<const std::string_view> argv,
             std::map<std::string, std::string> environment) {
  const auto called =
      argv.empty() ? std::string() : std::filesystem::path(argv[0]).filename().string();
  if (const auto* part = find_command(parts(), called)) {
    return run(*part, part->name, argv.subspan(1), std::move(environment));
  }
  if (called == "kubectl_complete-tranche") {
    fmt::print("{}", to_text(complete(commands(), argv.subspan(1))));
    return kExitFine;
  }
  // kubectl finds its plugins by this name.
  const std::string_view root = called == "kubectl-tranche" ? "kubectl tranche" : "tranche";
  if (argv.size() < 2) {
    fmt::print(stderr, "{}", command_help(commands(), root));
    return kExitUsage;
  }
  if (asks_for_help(argv[1])) return run_help(argv.subspan(2), root);
  const bool version = argv[1] == "--version" || argv[1] == "-v";
  const auto* command = find_command(commands(), version ? "version" : argv[1]);
  if (command == nullptr) return unknown_command(argv[1], root);
  return run(*command, fmt::format("{} {}", root, command->name), argv.subspan(2),
             std::move(environment));
}

}  // namespace tranche::cli
