#include "config/programs/layout_file_options.h"

#include "config/names.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

// A flag that only some of the words have.
class WordReader {
 public:
  WordReader(const Sources& sources, unsigned use) : reader_(sources, use), use_(use) {}

  std::string text(std::string_view name) {
    return has(name) ? reader_.get<std::string>(name) : std::string();
  }
  bool truth(std::string_view name) { return has(name) && reader_.get<bool>(name); }
  bool says(std::string_view name, std::string_view word) {
    return has(name) && reader_.choice(name, "no form") == word;
  }
  std::chrono::nanoseconds duration(std::string_view name, std::chrono::nanoseconds other) {
    if (!has(name)) return other;
    const auto interval = reader_.get<Interval>(name).value;
    if (interval && interval->count() > 0) return *interval;
    reader_.error(name, "somebody waits for the end", "write a duration such as 15m");
    return other;
  }
  std::string snapshot() { return has("snapshot") ? reader_.snapshot() : std::string(); }
  ApiServer api_server() { return has("kubeconfig") ? reader_.api_server() : ApiServer(); }
  OptionReader& reader() { return reader_; }

 private:
  bool has(std::string_view name) const { return find_flag(name, use_) != nullptr; }

  OptionReader reader_;
  unsigned use_;
};

// Checks flags that are only for a cluster's node, or only for this machine.
void check_place(OptionReader& reader, const LayoutFileOptions& options) {
  const bool on_node = reader.is_set("node");
  if (on_node && !is_object_name(options.node)) {
    reader.error("node", fmt::format("'{}' is no name of a node", options.node.substr(0, 80)),
                 "write a name as 'kubectl get nodes' shows it");
  }
  if (on_node && options.layout.empty()) {
    reader.error("selected-config", "no layout is named",
                 "write --selected-config, such as -c all-balanced");
  }
  if (on_node && !options.file.empty()) {
    reader.error("config-file", "the layouts are those of the node's agent",
                 "leave it out; the chart's migManager has the agent's file");
  }
  for (const std::string_view flag :
       {"accept-outage", "no-wait", "timeout", "context", "snapshot"}) {
    if (!on_node && reader.is_set(flag)) {
      reader.error(flag, "it is for a node of the cluster", "name one: --node");
    }
  }
  if (on_node && !options.snapshot.empty() && !options.dry_run) {
    reader.error("snapshot", "a snapshot is only looked at", "add --dry-run");
  }
  for (const std::string_view flag : {"mode-only", "force"}) {
    if (on_node && reader.get<bool>(flag)) {
      reader.error(flag, "it is for this machine", "leave out --node, or this");
    }
  }
}

}  // namespace

Result<LayoutFileOptions> load_layout_file_options(const Sources& sources, unsigned use) {
  WordReader of(sources, use);
  LayoutFileOptions options{
      .file = of.text("config-file"),
      .layout = of.text("selected-config"),
      .mode_only = of.truth("mode-only"),
      .valid_only = of.truth("valid-config"),
      .dry_run = of.truth("dry-run"),
      .yes = of.truth("yes"),
      .force = of.truth("force"),
      .state_dir = of.text("state-dir"),
      .mps_dir = of.text("mps-dir"),
      .label = of.text("config-label"),
      .output = of.says("output", "json") ? OutputForm::kJson : OutputForm::kYaml,
      .driver_root = of.text("driver-root-ctr-path"),
      .host_root = of.text("host-root"),
      .node = of.text("node"),
      .accept_outage = of.truth("accept-outage"),
      .wait = !of.truth("no-wait"),
      .timeout = of.duration("timeout", std::chrono::minutes(15)),
      .snapshot = of.snapshot(),
      .api_server = of.api_server()};
  if (use == kUseLayoutApply) check_place(of.reader(), options);
  return of.reader().result(std::move(options));
}

}  // namespace tranche::config
