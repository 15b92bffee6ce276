// tranche layout apply|show --node: on a node of a cluster.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/exit_code.h"
#include "base/log.h"
#include "cli/layout/node_order.h"
#include "cli/layout/print.h"
#include "cli/layout/words.h"
#include "cli/shell/cluster_choice.h"
#include "cli/shell/command_end.h"
#include "cli/shell/output.h"
#include "kube/client.h"
#include "process/signals.h"

namespace tranche::cli {
namespace {

int not_connected(const LayoutCall& call, const Error& error) {
  end(call, error);
  return exit_code_of_connecting(error);
}

Result<std::unique_ptr<kube::Client>> connect_for(const LayoutCall& call,
                                                  const ApiServer& api_server, const Log& log) {
  const auto& flags = call.sources.flags;
  const bool by_flag = std::ranges::any_of(
      flags, [](const config::FlagValue& flag) { return flag.name == "kubeconfig"; });
  ASSIGN_OR_RETURN(auto credentials,
                   choose_cluster(api_server, by_flag, call.invocation.environment));
  return kube::Client::open(std::move(credentials), {.user_agent = "tranche-layout", .log = &log});
}

void print_now(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

void tick_now(const std::string& text) { print_now("\r\x1b[K" + text); }

NodeOrder order_of(const config::LayoutFileOptions& options) {
  return {.node = options.node,
          .layout = options.layout,
          .accept_outage = options.accept_outage,
          .dry_run = options.dry_run,
          .wait = options.wait,
          .timeout = options.timeout};
}

int apply_with_signals(const LayoutCall& call, const config::LayoutFileOptions& options,
                       int signals) {
  const Log log(LogLevel::kWarn);
  const auto objects = connect_for(call, options.api_server, log);
  if (!objects) return not_connected(call, objects.error());
  const SystemClock clock;
  NodePorts ports{.objects = **objects,
                  .clock = clock,
                  .pause = [&](auto time) { return process::wait_for_signal(signals, time); },
                  .print = print_now};
  if (isatty(STDOUT_FILENO) != 0) ports.tick = tick_now;
  if (!options.yes && isatty(STDIN_FILENO) != 0)
    ports.ask = [&] { return wants_to_go_on(signals); };
  const auto done = apply_on_node(ports, order_of(options));
  if (ports.tick) ports.tick("");
  return done ? kExitFine : end(call, done.error());
}

json::Value document_of(const NodeLayout& layout, cluster::WallTime now) {
  return {{"version", "layout-node/v1"},
          {"node", layout.node.name},
          {"layout", layout.label},
          {"state", layout.state},
          {"reason", layout.condition.reason},
          {"message", layout.condition.message},
          {"change", phase_text(layout, now)},
          {"heldBy", holder_texts(layout)},
          {"cordoned", layout.node.unschedulable},
          {"offers", layout.offers}};
}

}  // namespace

int run_layout_apply_on_node(const LayoutCall& call, const config::LayoutFileOptions& options) {
  const Log log(LogLevel::kWarn);
  return process::run_with_signals(
      log, [&](int signals) { return apply_with_signals(call, options, signals); });
}

int run_layout_show_of_node(const LayoutCall& call, const config::LayoutOptions& options) {
  using Output = config::LayoutOptions::Output;
  if (options.output == Output::kSvg || !options.svg_file.empty()) {
    return refuse(call, "--node: the cluster does not know the places of instances: no picture");
  }
  const Log log(LogLevel::kWarn);
  const auto objects = connect_for(call, options.api_server, log);
  if (!objects) return not_connected(call, objects.error());
  const auto layout = read_node_layout(**objects, options.node);
  if (!layout) return end(call, layout.error());
  const auto now = SystemClock().wall_now();
  if (options.output == Output::kTable) {
    print_now(describe(*layout, now));
  } else {
    print_now(written(document_of(*layout, now), form_of(options.output)));
  }
  return kExitFine;
}

}  // namespace tranche::cli
