// tranche limit set|get|reset POD, tranche limit list|prune: see docs/limits.md.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/limit_overview.h"
#include "cli/limit_show.h"
#include "cli/limit_work.h"
#include "config/flags/command_line.h"
#include "config/flags/flag_table.h"
#include "config/programs/limit_options.h"
#include "kube/client.h"
#include "kube/connect.h"

namespace tranche::cli {
namespace {

using config::LimitOptions;
using Verb = LimitOptions::Verb;

constexpr int kFinding = 1;
constexpr int kUsage = 2;
constexpr int kUnreachable = 3;
constexpr std::string_view kUsageLine = "tranche limit set|get|reset POD | list | prune";

int refuse(std::string_view what) {
  fmt::print(stderr, "tranche limit: {}\nRun 'tranche limit --help' for the flags.\n", what);
  return kUsage;
}

std::optional<Verb> verb_from(std::string_view word) {
  if (word == "set") return Verb::kSet;
  if (word == "get") return Verb::kGet;
  if (word == "reset") return Verb::kReset;
  if (word == "list") return Verb::kList;
  if (word == "prune") return Verb::kPrune;
  return std::nullopt;
}

// Flags may stand anywhere: before, between and after the words.
struct Words {
  config::ParsedArgs flags;
  std::vector<std::string> words;
};
Result<Words> read_words(std::span<const std::string_view> arguments) {
  Words result;
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  while (true) {
    const std::vector<std::string_view> views(rest.begin(), rest.end());
    ASSIGN_OR_RETURN(auto parsed, config::parse_arguments(views, config::kUseLimit));
    result.flags.help |= parsed.help;
    result.flags.version |= parsed.version;
    std::ranges::move(parsed.flags, std::back_inserter(result.flags.flags));
    if (parsed.positionals.empty()) return result;
    result.words.push_back(parsed.positionals.front());
    rest.assign(parsed.positionals.begin() + 1, parsed.positionals.end());
  }
}

// As kubectl does: uses the user's own kubeconfig outside of a Pod, or when a context is named.
ApiServer api_server(const LimitOptions& options,
                     const std::map<std::string, std::string>& environment) {
  auto server = options.api_server;
  const bool in_pod = server.context.empty() && environment.contains("KUBERNETES_SERVICE_HOST");
  const auto home = environment.find("HOME");
  if (!server.kubeconfig.empty() || in_pod || home == environment.end()) return server;
  const auto file = std::filesystem::path(home->second) / ".kube" / "config";
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) server.kubeconfig = file.string();
  return server;
}

int end(const Error& error) {
  fmt::print(stderr, "tranche limit: {}\n", error.message());
  switch (error.code) {
    case Code::kInvalidArgument:
      return kUsage;
    case Code::kUnavailable:
    case Code::kTimeout:
      return kUnreachable;
    default:
      return kFinding;
  }
}

// A kubeconfig or context that does not exist is a usage error. Any other error means that the API
// server cannot be reached.
int not_connected(const Error& error) {
  fmt::print(stderr, "tranche limit: {}\n", error.message());
  return error.code == Code::kInvalidArgument ? kUsage : kUnreachable;
}

template <class Report>
int end(const Result<Report>& report, const LimitOptions& options) {
  if (!report) return end(report.error());
  fmt::print("{}", show(*report, options));
  if (report->finding.empty()) return 0;
  fmt::print(stderr, "tranche limit: {}\n", report->finding);
  return kFinding;
}

int run(LimitOptions options, const std::map<std::string, std::string>& environment) {
  const Log log(LogLevel::kWarn);
  auto credentials = kube::find_credentials(api_server(options, environment), environment);
  if (!credentials) return not_connected(credentials.error());
  if (options.ns.empty() && options.verb != Verb::kList) {
    options.ns = credentials->ns.empty() ? "default" : credentials->ns;
  }
  const auto objects =
      kube::Client::open(*std::move(credentials), {.user_agent = "tranche-limit", .log = &log});
  if (!objects) return not_connected(objects.error());
  switch (options.verb) {
    case Verb::kList:
      return end(list_limits(**objects, options.ns), options);
    case Verb::kPrune:
      return end(prune_limits(**objects), options);
    default:
      return end(run_limit(**objects, options), options);
  }
}

}  // namespace

int run_limit_command(const Invocation& invocation) {
  const auto words = read_words(invocation.arguments);
  if (!words) return refuse(words.error().message());
  if (words->flags.help) {
    fmt::print("{}", config::help_text(kUsageLine, config::kUseLimit));
    return 0;
  }
  if (words->flags.version) {
    fmt::print("{}\n", version_line());
    return 0;
  }
  const auto verb = words->words.empty() ? std::nullopt : verb_from(words->words[0]);
  if (!verb) return refuse("say what to do: set, get, reset, list or prune");
  const bool one_pod = *verb != Verb::kList && *verb != Verb::kPrune;
  if (one_pod && words->words.size() != 2) return refuse("name one Pod");
  if (!one_pod && words->words.size() != 1) return refuse("list and prune are about no one Pod");
  const config::Sources sources{.flags = words->flags.flags, .environment = invocation.environment};
  const auto options = config::load_limit_options(sources, *verb, one_pod ? words->words[1] : "");
  if (!options) return refuse(options.error().message());
  return run(*options, invocation.environment);
}

}  // namespace tranche::cli
