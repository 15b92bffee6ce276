// tranche lint: see docs/lint.md.

#include "cli/lint/lint.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/exit_code.h"
#include "cli/lint/files.h"
#include "cli/lint/names.h"
#include "cli/lint/report.h"
#include "cli/shell/cluster_source.h"
#include "cli/shell/command.h"
#include "cli/shell/command_end.h"
#include "cli/shell/output.h"
#include "config/flags/command_line.h"
#include "config/programs/lint_options.h"
#include "explain/lint/driver_name.h"
#include "explain/lint/lint.h"

namespace tranche::cli {
namespace {

using config::LintOptions;

int end(const Error& error, int code) {
  std::fflush(stdout);
  fmt::print(stderr, "tranche lint: {}\n", error.message());
  return code;
}

// The width of the output terminal; 0: not a terminal.
std::size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

// The exit code if the cluster or its snapshot cannot be read; nullopt: it was read.
std::optional<int> look_at_cluster(const LintOptions& options, const config::Sources& sources,
                                   lint::Surroundings& around) {
  const Log log(LogLevel::kWarn);
  const auto source = open_cluster({.snapshot = options.snapshot,
                                    .api_server = options.api_server,
                                    .user_agent = "tranche-lint"},
                                   sources, log);
  if (!source) return end(source.error(), exit_code_of_connecting(source.error()));
  const auto unseen = ask_cluster(*source->objects, around);
  if (!unseen) return end(unseen.error(), exit_code_of(unseen.error()));
  if (!unseen->empty()) fmt::print(stderr, "tranche lint: {}\n", *unseen);
  return std::nullopt;
}

void print_corrected(const std::vector<lint::FileResult>& results) {
  bool is_first = true;
  for (const auto& result : results) {
    if (!result.corrected) continue;
    fmt::print("{}# corrected: {}\n{}", is_first ? "\n" : "---\n", result.name, *result.corrected);
    is_first = false;
  }
}

int print_results(const std::vector<lint::FileResult>& results, const LintOptions& options) {
  std::vector<std::string> written;
  if (!options.fix_to.empty()) {
    auto done = write_corrected(results, options.fix_to);
    if (!done) return end(done.error(), exit_code_of(done.error()));
    written = *std::move(done);
  }
  if (options.output != config::OutputForm::kTable) {
    fmt::print("{}", cli::written(lint_document(results), options.output));
  } else {
    fmt::print("{}{}", lint_text(results, terminal_width()), lint_summary(results));
    for (const auto& file : written) fmt::print("corrected: {}\n", file);
    if (options.fix_to.empty()) print_corrected(results);
  }
  const auto counts = count(results);
  const bool found = counts.errors > 0 || (options.strict && counts.warnings > 0);
  return found ? kExitFinding : kExitFine;
}

}  // namespace

int run_lint_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, invocation.command.uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  if (const auto answered = answer_help(invocation, *parsed, nullptr)) return *answered;
  const config::Sources sources{.flags = parsed->flags, .environment = invocation.environment};
  const auto options = config::load_lint_options(sources, parsed->positionals);
  if (!options) return refuse(invocation, options.error().message());
  const auto files = read_lint_files(options->files);
  if (!files) return end(files.error(), kExitUsage);
  const auto driver = lint::driver_named_in(*files);
  auto around = published_surroundings(driver.value_or(std::string(kDefaultDraDriver)));
  if (options->cluster || !options->snapshot.empty()) {
    if (const auto code = look_at_cluster(*options, sources, around)) return *code;
  }
  return print_results(lint::lint(*files, std::move(around)), *options);
}

}  // namespace tranche::cli
