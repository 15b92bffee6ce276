// tranche report: see docs/report.md.

#include "cli/report/report.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/report/read_cluster.h"
#include "cli/report/view.h"
#include "cli/shell/cluster_choice.h"
#include "cli/shell/cluster_source.h"
#include "cli/shell/command_end.h"
#include "cli/shell/input_text.h"
#include "cli/shell/output.h"
#include "cli/snapshot/target.h"
#include "config/flags/command_line.h"
#include "config/programs/report_options.h"
#include "fleet/fleet_json.h"
#include "fleet/make_fleet.h"
#include "kube/http_get.h"
#include "web/report.h"

namespace tranche::cli {
namespace {

using config::ReportOptions;

// For one list with all its pages, and for the controller's answer.
constexpr std::chrono::minutes kDeadline{2};

void say(const std::string& text) { fmt::print(stderr, "tranche report: {}\n", text); }

// A fleet, or the exit code of what went wrong.
struct Failed {
  Error error;
  int code;
};
struct Report {
  fleet::Fleet fleet;
  std::vector<std::string> gaps{};
};
using Read = std::expected<Report, Failed>;

std::unexpected<Failed> failed(Error error, int code) {
  return std::unexpected(Failed{std::move(error), code});
}

Read read_file(const std::string& path) {
  const auto text = input_text(path, fleet::kLongestFleet);
  if (!text) return failed(Error(text.error()).with_context("--fleet"), kExitUsage);
  auto fleet = fleet::parse_fleet(*text);
  if (!fleet) return failed(std::move(fleet).error().with_context(path), kExitUsage);
  return Report{.fleet = *std::move(fleet)};
}

// What the controller says, through the API server's service proxy, which passes on this header.
Read ask_controller(const ReportOptions& options, const config::Sources& sources) {
  auto credentials = choose_cluster(options.api_server, sources);
  if (!credentials) {
    return failed(credentials.error(), exit_code_of_connecting(credentials.error()));
  }
  const auto get =
      kube::HttpGet::open(*std::move(credentials), {.user_agent = "tranche-report",
                                                    .peer = "the controller",
                                                    .token_header = kProxiedTokenHeader});
  if (!get) return failed(get.error(), exit_code_of_connecting(get.error()));
  const auto body = (*get)->get(proxied(options.service, "/v1/fleet"),
                                {.deadline = kDeadline, .bytes = fleet::kLongestFleet});
  if (!body) return failed(body.error(), exit_code_of(body.error()));
  auto fleet = fleet::parse_fleet(*body);
  if (!fleet) return failed(std::move(fleet).error().with_context("the controller"), kExitFinding);
  return Report{.fleet = *std::move(fleet)};
}

Read read_objects(const ReportOptions& options, const config::Sources& sources) {
  const Log log(LogLevel::kWarn);
  const auto source = open_cluster({.snapshot = options.snapshot,
                                    .api_server = options.api_server,
                                    .user_agent = "tranche-report"},
                                   sources, log);
  if (!source) return failed(source.error(), exit_code_of_connecting(source.error()));
  auto read = read_cluster(*source->objects, {.deadline = kDeadline});
  if (!read) return failed(read.error(), exit_code_of(read.error()));
  const auto now = source->taken_at.value_or(SystemClock().wall_now());
  return Report{
      .fleet = make_fleet(read->facts, {}, now,
                          options.snapshot.empty() ? "the controller was not asked (--service)"
                                                   : "a snapshot has no figures of use"),
      .gaps = std::move(read->gaps)};
}

Read read(const ReportOptions& options, const config::Sources& sources) {
  if (!options.fleet.empty()) return read_file(options.fleet);
  if (!options.service.name.empty()) return ask_controller(options, sources);
  return read_objects(options, sources);
}

std::string printed(const fleet::Fleet& fleet, const ReportOptions& options) {
  if (options.output == config::OutputForm::kTable) {
    return report_text(fleet, {.near = options.near});
  }
  const auto text = to_json(fleet);
  return written(json::Value::copy(json::parse(text).value_or(json::View())), options.output);
}

int run(const ReportOptions& options, const config::Sources& sources) {
  std::optional<std::filesystem::path> page;
  if (!options.html.empty()) {
    // Before anybody is asked, so that a bad target is reported before a long wait.
    auto target = file_to_write(options.html, "--html");
    if (!target) {
      say(target.error().message());
      return kExitUsage;
    }
    page = *std::move(target);
  }
  const auto report = read(options, sources);
  if (!report) {
    say(report.error().error.message());
    return report.error().code;
  }
  const auto done = page ? write_private(*page, web::report_html(report->fleet))
                         : write_stream(stdout, printed(report->fleet, options));
  if (!done) {
    say(done.error().message());
    return kExitFinding;
  }
  for (const auto& gap : report->gaps) say(gap);
  return report->gaps.empty() ? kExitFine : kExitFinding;
}

}  // namespace

int run_report_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, invocation.command.uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  if (const auto answered = answer_help(invocation, *parsed, nullptr)) return *answered;
  if (!parsed->positionals.empty()) {
    return refuse(invocation,
                  fmt::format("unexpected argument '{}'", parsed->positionals[0].substr(0, 80)));
  }
  const config::Sources sources{.flags = parsed->flags, .environment = invocation.environment};
  const auto options = config::load_report_options(sources);
  if (!options) return refuse(invocation, options.error().message());
  return run(*options, sources);
}

}  // namespace tranche::cli
