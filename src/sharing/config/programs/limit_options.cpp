#include "config/programs/limit_options.h"

#include <fmt/ranges.h>

#include "config/limits.h"
#include "config/names.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

using Verb = LimitOptions::Verb;

constexpr std::string_view kValues[] = {"memory", "compute", "class"};

unsigned use_of(Verb verb) {
  switch (verb) {
    case Verb::kSet:
      return kUseLimitSet;
    case Verb::kGet:
      return kUseLimitGet;
    case Verb::kReset:
      return kUseLimitReset;
    case Verb::kList:
      return kUseLimitList;
    case Verb::kPrune:
      break;
  }
  return kUseLimitPrune;
}

// A name in Kubernetes, or nothing.
std::string optional_name(OptionReader& reader, std::string_view flag) {
  auto text = reader.get<std::string>(flag);
  if (!text.empty() && !is_object_name(text)) {
    reader.error(flag, fmt::format("'{}' is no name", text.substr(0, 80)),
                 "write lower-case letters, digits, '-' and '.'");
  }
  return text;
}

std::string pod_name(OptionReader& reader, Verb verb, std::string_view text) {
  if (verb == Verb::kList || verb == Verb::kPrune) return "";
  // kubectl prints and accepts both.
  for (const std::string_view kind : {"pod/", "pods/"}) {
    if (text.starts_with(kind)) text.remove_prefix(kind.size());
  }
  if (!is_object_name(text)) {
    reader.error(Error{Code::kInvalidArgument,
                       fmt::format("'{}' is no name of a Pod", text.substr(0, 80)),
                       "write lower-case letters, digits, '-' and '.'"});
  }
  return std::string(text);
}

// "claim/half", "claim/half/gpu" (cluster/formats/limit_settings.h).
bool is_claim_resource(std::string_view text) {
  constexpr std::string_view kPrefix = "claim/";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  const auto slash = text.find('/');
  return is_object_name(text.substr(0, slash)) &&
         (slash == std::string_view::npos || is_object_name(text.substr(slash + 1)));
}

std::string resource(OptionReader& reader) {
  auto text = reader.get<std::string>("resource");
  if (text.empty() || is_claim_resource(text)) return text;
  const auto name = text.find('/') == std::string::npos ? "nvidia.com/" + text : text;
  const auto slash = name.find('/');
  if (!is_object_name(name.substr(0, slash)) || !is_object_name(name.substr(slash + 1))) {
    reader.error("resource", fmt::format("'{}' is no name of a resource", text.substr(0, 80)),
                 "write a name such as nvidia.com/gpu.shared, or short gpu.shared");
  }
  return name;
}

std::chrono::nanoseconds timeout_of(OptionReader& reader) {
  const auto interval = reader.get<Interval>("timeout").value;
  if (interval && interval->count() > 0) return *interval;
  reader.error("timeout", "somebody waits for the end", "write a duration such as 30s");
  return std::chrono::seconds(1);
}

// "'tranche limit set' and 'tranche limit reset' take it": the programs that know the flag.
std::string takers(std::string_view flag) {
  std::vector<std::string> names;
  for (const auto& program : flag_programs()) {
    if ((program.use & kUseLimit) == 0 || find_flag(flag, program.use) == nullptr) continue;
    names.push_back(fmt::format("'tranche {}'", program.name));
  }
  return fmt::format("{} {} it", fmt::join(names, " and "), names.size() == 1 ? "takes" : "take");
}

void check_flags_are_of(Verb verb, OptionReader& reader, const Sources& sources) {
  for (const auto& flag : sources.flags) {
    if (find_flag(flag.name, use_of(verb)) != nullptr) continue;
    reader.error(flag.name, "this command does not know it", takers(flag.name));
  }
}

template <class Limit>
std::string limit(OptionReader& reader, std::string_view flag,
                  Result<Limit> (*parse)(std::string_view)) {
  auto text = reader.get<std::string>(flag);
  if (!reader.is_set(flag)) return text;
  if (const auto parsed = parse(text); !parsed) {
    reader.error(flag, parsed.error().what, parsed.error().hint);
  }
  return text;
}

void check_something_is_set(OptionReader& reader, Verb verb) {
  const bool any = std::ranges::any_of(kValues, [&](auto flag) { return reader.is_set(flag); });
  if (verb == Verb::kSet && !any) {
    reader.error("memory", "nothing is to be set", "give --memory, --compute or --class");
  }
}

}  // namespace

Result<LimitOptions> load_limit_options(const Sources& sources, Verb verb, const std::string& pod) {
  OptionReader reader(sources, kUseLimit);
  LimitOptions options{.verb = verb,
                       .ns = optional_name(reader, "namespace"),
                       .pod = pod_name(reader, verb, pod),
                       .container = optional_name(reader, "container"),
                       .resource = resource(reader),
                       .memory = limit(reader, "memory", parse_memory_setting),
                       .compute = limit(reader, "compute", parse_compute_setting),
                       .priority = reader.choice("class", "no class"),
                       .timeout = timeout_of(reader),
                       .output = read_output_form(reader),
                       .snapshot = reader.snapshot(),
                       .api_server = reader.api_server()};
  check_flags_are_of(verb, reader, sources);
  check_something_is_set(reader, verb);
  return reader.result(std::move(options));
}

}  // namespace tranche::config
