#include "config/programs/top_options.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/quantity.h"
#include "config/programs/controller_service.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

constexpr const char* kDefaultAgent = "http://localhost:9400";
constexpr std::chrono::milliseconds kShortestInterval{100};
constexpr std::chrono::milliseconds kLongestInterval = std::chrono::hours(1);

// At most one flag says where readings come from.
void choose_source(OptionReader& reader, TopOptions& options) {
  using From = TopOptions::From;
  std::vector<std::pair<std::string_view, From>> chosen;
  const auto agent = reader.get<std::string>("agent");
  const auto controller = reader.get<std::string>("controller");
  options.replay = reader.get<std::string>("replay");
  if (!agent.empty()) chosen.emplace_back("agent", From::kAgent);
  if (reader.get<bool>("local")) chosen.emplace_back("local", From::kLocal);
  if (!controller.empty()) chosen.emplace_back("controller", From::kController);
  // KUBECONFIG may be set for other commands.
  const bool named = reader.is_flag("kubeconfig") || reader.is_flag("context");
  if (reader.get<bool>("cluster") || named) {
    chosen.emplace_back(named ? "kubeconfig" : "cluster", From::kCluster);
  }
  if (!options.replay.empty()) chosen.emplace_back("replay", From::kReplay);
  if (chosen.size() > 1) {
    reader.error(chosen[1].first, fmt::format("it stands beside --{}", chosen[0].first),
                 "say once where readings come from");
  }
  options.agent_by_default = chosen.empty();
  if (!chosen.empty()) options.from = chosen[0].second;
  if (options.from == From::kAgent) options.server = agent.empty() ? kDefaultAgent : agent;
  if (options.from == From::kController) options.server = controller;
}

void choose_recording(OptionReader& reader, TopOptions& options) {
  options.record = reader.get<std::string>("record");
  const auto limit = parse_bytes(reader.get<std::string>("record-limit"));
  if (limit) {
    options.record_limit = limit->value;
  } else {
    reader.error("record-limit", limit.error().what, "write an amount: 1Gi");
  }
  options.speed = reader.get<double>("speed");
  if (!(options.speed >= 0.01 && options.speed <= 10'000)) {
    reader.error("speed", "it is no speed", "write 0.01 to 10000");
  }
  if (!options.record.empty() && !options.replay.empty()) {
    reader.error("record", "a recording is replayed", "leave out --record or --replay");
  }
}

std::chrono::milliseconds interval_of(OptionReader& reader) {
  const auto interval = reader.get<Interval>("interval").value;
  if (!interval || *interval < kShortestInterval || *interval > kLongestInterval) {
    reader.error("interval", "it is too short or too long", "write 100ms to 1h");
    return kShortestInterval;
  }
  return std::chrono::ceil<std::chrono::milliseconds>(*interval);
}

}  // namespace

Result<TopOptions> load_top_options(const Sources& sources) {
  OptionReader reader(sources, kUseTop);
  TopOptions options{.api_server = reader.api_server(),
                     .token_file = reader.get<std::string>("token-file"),
                     .ca_file = reader.get<std::string>("ca-file"),
                     .once = reader.get<bool>("once"),
                     .interval = interval_of(reader),
                     .output = read_output_form(reader),
                     .filter = reader.get<std::string>("filter"),
                     .sort = reader.choice("sort", "no order"),
                     .reverse = reader.get<bool>("reverse"),
                     .tree = reader.get<bool>("tree"),
                     .processes = reader.get<bool>("processes"),
                     .theme = reader.choice("theme", "no theme"),
                     .ascii = reader.get<bool>("ascii")};
  choose_source(reader, options);
  options.service = read_controller_service(reader);
  choose_recording(reader, options);
  if (reader.get<bool>("no-color")) options.theme = "none";
  if (options.output != OutputForm::kTable) options.once = true;
  return reader.result(std::move(options));
}

}  // namespace tranche::config
