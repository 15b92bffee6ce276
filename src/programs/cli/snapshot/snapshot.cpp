// tranche snapshot: see docs/snapshot.md.

#include "cli/snapshot/snapshot.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/uuid.h"
#include "cli/shell/cluster_choice.h"
#include "cli/shell/cluster_source.h"
#include "cli/shell/command_end.h"
#include "cli/snapshot/report.h"
#include "cli/snapshot/target.h"
#include "cluster/snapshot/anonymize.h"
#include "cluster/snapshot/encoding.h"
#include "cluster/snapshot/take.h"
#include "config/flags/command_line.h"
#include "config/programs/snapshot_options.h"
#include "kube/client.h"

namespace tranche::cli {
namespace {

using config::SnapshotOptions;

// For one list with all its pages: large clusters take long.
constexpr std::chrono::minutes kDeadline{2};

void say(const std::string& text) { fmt::print(stderr, "tranche snapshot: {}\n", text); }

int end(const Error& error, int code) {
  say(error.message());
  return code;
}

cluster::TakeOptions take_options(const SnapshotOptions& options, const std::string& server) {
  return {.now = SystemClock().wall_now(),
          .server = server,
          .taken_by = version_line(),
          .config_maps = options.config_maps,
          .policy_namespace = options.operator_namespace};
}

using Target = std::optional<std::filesystem::path>;  // nullopt: standard output

// Before the cluster is read, so that a bad target is reported before a long wait.
Result<Target> target_of(const SnapshotOptions& options) {
  if (options.file.empty()) return std::nullopt;
  return file_to_write(options.file);
}

Result<void> write(const cluster::Snapshot& snapshot, const SnapshotOptions& options,
                   const Target& target) {
  const auto text = cluster::encode(
      options.anonymize ? cluster::anonymize(snapshot, checksum(random_uuid())) : snapshot);
  return target ? write_private(*target, text) : write_stream(stdout, text);
}

// What is missing in a file was reported when it was taken.
int anonymize_file(const SnapshotOptions& options, const Target& target) {
  const auto snapshot = read_snapshot(options.snapshot);
  if (!snapshot) return end(snapshot.error(), kExitUsage);
  const auto written = write(*snapshot, options, target);
  return written ? kExitFine : end(written.error(), kExitFinding);
}

int take_cluster(const SnapshotOptions& options, const config::Sources& sources,
                 const Target& target) {
  const Log log(LogLevel::kWarn);
  auto credentials = choose_cluster(options.api_server, sources);
  if (!credentials) {
    return end(credentials.error(), exit_code_of_connecting(credentials.error()));
  }
  const auto server = credentials->server;
  const auto objects =
      kube::Client::open(*std::move(credentials), {.user_agent = "tranche-snapshot", .log = &log});
  if (!objects) return end(objects.error(), exit_code_of_connecting(objects.error()));
  const auto snapshot =
      cluster::take(**objects, take_options(options, server), {.deadline = kDeadline});
  if (!snapshot) return end(snapshot.error(), exit_code_of(snapshot.error()));
  if (const auto written = write(*snapshot, options, target); !written) {
    return end(written.error(), kExitFinding);
  }
  const auto missing = missing_lines(*snapshot);
  for (const auto& line : missing) say(line);
  if (target) say(fmt::format("{} has {}", target->string(), contents_of(*snapshot)));
  return missing.empty() ? kExitFine : kExitFinding;
}

int run(const SnapshotOptions& options, const config::Sources& sources) {
  const auto target = target_of(options);
  if (!target) return end(target.error(), kExitUsage);
  return options.snapshot.empty() ? take_cluster(options, sources, *target)
                                  : anonymize_file(options, *target);
}

}  // namespace

int run_snapshot_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, invocation.command.uses);
  if (!parsed) return refuse(invocation, parsed.error().message());
  if (const auto answered = answer_help(invocation, *parsed, nullptr)) return *answered;
  if (!parsed->positionals.empty()) {
    return refuse(invocation,
                  fmt::format("unexpected argument '{}'", parsed->positionals[0].substr(0, 80)));
  }
  const config::Sources sources{.flags = parsed->flags, .environment = invocation.environment};
  const auto options = config::load_snapshot_options(sources);
  if (!options) return refuse(invocation, options.error().message());
  return run(*options, sources);
}

}  // namespace tranche::cli
