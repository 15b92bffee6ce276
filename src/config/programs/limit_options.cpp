#include "config/programs/limit_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

using Verb = LimitOptions::Verb;
using Output = LimitOptions::Output;

constexpr std::string_view kValues[] = {"memory", "compute", "class"};

std::string resource(OptionReader& reader) {
  auto text = reader.get<std::string>("resource");
  return text.empty() || text.find('/') != std::string::npos ? text : "nvidia.com/" + text;
}

Output output(OptionReader& reader) {
  const auto text = reader.get<std::string>("output");
  if (text == "json") return Output::kJson;
  if (text == "yaml") return Output::kYaml;
  if (text != "table") {
    reader.error("output", fmt::format("'{}' is no form", text.substr(0, 40)),
                 "write table, json or yaml");
  }
  return Output::kTable;
}

std::chrono::nanoseconds timeout_of(OptionReader& reader) {
  const auto interval = reader.get<Interval>("timeout").value;
  if (interval && interval->count() > 0) return *interval;
  reader.error("timeout", "somebody waits for the end", "write a duration such as 30s");
  return std::chrono::seconds(1);
}

bool names_a_pod(Verb verb) { return verb != Verb::kList && verb != Verb::kPrune; }

void check_flags_are_for_a_pod(OptionReader& reader, Verb verb) {
  if (names_a_pod(verb)) return;
  for (const auto flag : {"container", "resource"}) {
    if (reader.is_set(flag)) reader.error(flag, "only what names a Pod takes it", "leave it out");
  }
  if (verb == Verb::kPrune && reader.is_set("namespace")) {
    reader.error("namespace", "prune is about all Nodes", "leave it out");
  }
}

void check_values_are_for_set(OptionReader& reader, Verb verb) {
  const bool any = std::ranges::any_of(kValues, [&](auto flag) { return reader.is_set(flag); });
  if (verb == Verb::kSet && !any) {
    reader.error("memory", "nothing is to be set", "give --memory, --compute or --class");
  }
  if (verb == Verb::kSet) return;
  for (const auto flag : kValues) {
    if (reader.is_set(flag)) {
      reader.error(flag, "only `set` takes it", "use `tranche limit set`, or leave it out");
    }
  }
}

}  // namespace

Result<LimitOptions> load_limit_options(const Sources& sources, Verb verb, const std::string& pod) {
  OptionReader reader(sources, kUseLimit);
  LimitOptions options{.verb = verb,
                       .ns = reader.get<std::string>("namespace"),
                       .pod = pod,
                       .container = reader.get<std::string>("container"),
                       .resource = resource(reader),
                       .memory = reader.get<std::string>("memory"),
                       .compute = reader.get<std::string>("compute"),
                       .priority = reader.get<std::string>("class"),
                       .timeout = timeout_of(reader),
                       .output = output(reader),
                       .api_server = reader.api_server()};
  check_flags_are_for_a_pod(reader, verb);
  check_values_are_for_set(reader, verb);
  return reader.result(std::move(options));
}

}  // namespace tranche::config
