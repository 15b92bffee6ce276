// tranche layout apply|show --node: on a node of a cluster, or in a snapshot of one.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "cli/layout/node_gpus.h"
#include "cli/layout/node_order.h"
#include "cli/layout/print.h"
#include "cli/layout/words.h"
#include "cli/shell/cluster_source.h"
#include "cli/shell/command_end.h"
#include "cli/shell/output.h"
#include "process/signals.h"

namespace tranche::cli {
namespace {

int not_connected(const LayoutCall& call, const Error& error) {
  end(call, error);
  return exit_code_of_connecting(error);
}

Result<ClusterSource> connect_for(const LayoutCall& call, const ApiServer& api_server,
                                  const std::string& snapshot, const Log& log) {
  return open_cluster(
      {.snapshot = snapshot, .api_server = api_server, .user_agent = "tranche-layout"},
      call.sources, log);
}

void print_now(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

void tick_now(const std::string& text) { print_now("\r\x1b[K" + text); }

// For a snapshot the time at which it was taken, so that remaining times are of then.
class SourceClock final : public Clock {
 public:
  explicit SourceClock(std::optional<cluster::WallTime> taken_at) : taken_at_(taken_at) {}
  std::chrono::steady_clock::time_point now() const override { return system_.now(); }
  std::chrono::system_clock::time_point wall_now() const override {
    return taken_at_.value_or(system_.wall_now());
  }

 private:
  std::optional<cluster::WallTime> taken_at_;
  SystemClock system_;
};

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
  const auto source = connect_for(call, options.api_server, options.snapshot, log);
  if (!source) return not_connected(call, source.error());
  const SourceClock clock(source->taken_at);
  NodePorts ports{.objects = *source->objects,
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

struct ShownNode {
  NodeLayout layout;
  NodeGpus gpus;
};

json::Value document_of(const ShownNode& node, cluster::WallTime now) {
  const auto& layout = node.layout;
  json::Value document = {{"version", "layout-node/v1"},
                          {"node", layout.node.name},
                          {"layout", layout.label},
                          {"state", layout.state},
                          {"reason", layout.condition.reason},
                          {"message", layout.condition.message},
                          {"change", phase_text(layout, now)},
                          {"heldBy", holder_texts(layout)},
                          {"cordoned", layout.node.unschedulable},
                          {"offers", layout.offers}};
  if (node.gpus.published) document["gpus"] = document_of(node.gpus);
  return document;
}

std::string text_of(const ShownNode& node, cluster::WallTime now) {
  return describe(node.layout, now) + soon_text(node.gpus, node.layout.offers) +
         describe(node.gpus);
}

bool has_gpus(const ShownNode& node) {
  return node.gpus.published || !node.layout.offers.empty() || node.layout.mig_capable ||
         node.layout.has_manager();
}

Result<std::vector<ShownNode>> nodes_with_gpus(cluster::Objects& objects) {
  ASSIGN_OR_RETURN(const auto list, objects.list(cluster::kNode, {}));
  std::vector<ShownNode> nodes;
  for (const auto& item : list.items) {
    ASSIGN_OR_RETURN(auto layout, read_node_layout(item.json));
    auto gpus = read_node_gpus(objects, item.key.name);
    nodes.push_back({std::move(layout), std::move(gpus)});
  }
  std::erase_if(nodes, [](const ShownNode& node) { return !has_gpus(node); });
  return nodes;
}

int show_all(const LayoutCall& call, const config::LayoutOptions& options,
             cluster::Objects& objects, cluster::WallTime now) {
  const auto nodes = nodes_with_gpus(objects);
  if (!nodes) return end(call, nodes.error());
  std::string text;
  auto documents = json::Value::array();
  for (const auto& node : *nodes) {
    text += text_of(node, now);
    documents.push_back(document_of(node, now));
  }
  if (options.output == config::LayoutOptions::Output::kTable) {
    print_now(nodes->empty() ? "the snapshot has no node with GPUs\n" : text);
  } else {
    print_now(written({{"version", "layout-nodes/v1"}, {"nodes", std::move(documents)}},
                      form_of(options.output)));
  }
  return kExitFine;
}

int show_one(const LayoutCall& call, const config::LayoutOptions& options,
             cluster::Objects& objects, cluster::WallTime now) {
  auto layout = read_node_layout(objects, options.node);
  if (!layout) return end(call, layout.error());
  const ShownNode node{*std::move(layout), read_node_gpus(objects, options.node)};
  print_now(options.output == config::LayoutOptions::Output::kTable
                ? text_of(node, now)
                : written(document_of(node, now), form_of(options.output)));
  return kExitFine;
}

}  // namespace

int run_layout_apply_on_node(const LayoutCall& call, const config::LayoutFileOptions& options) {
  const Log log(LogLevel::kWarn);
  return process::run_with_signals(
      log, [&](int signals) { return apply_with_signals(call, options, signals); });
}

int run_layout_show_of_node(const LayoutCall& call, const config::LayoutOptions& options) {
  if (options.output == config::LayoutOptions::Output::kSvg || !options.svg_file.empty()) {
    return refuse(call,
                  fmt::format("{}: the cluster does not know the places of instances: no picture",
                              options.node.empty() ? "--snapshot" : "--node"));
  }
  const Log log(LogLevel::kWarn);
  const auto source = connect_for(call, options.api_server, options.snapshot, log);
  if (!source) return not_connected(call, source.error());
  const auto now = SourceClock(source->taken_at).wall_now();
  const auto show = options.node.empty() ? show_all : show_one;
  return show(call, options, *source->objects, now);
}

}  // namespace tranche::cli
