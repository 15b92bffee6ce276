#include "config/programs/layout_options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

constexpr int kMostDevices = 10'000;
constexpr int kMostGpus = 100'000;

// nullopt: not an integer. A larger one becomes kMostDevices + 1.
std::optional<int> count_of(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = end == text.data() + text.size();
  const bool too_large = error == std::errc::result_out_of_range && !text.starts_with('-');
  if (!whole || (error != std::errc() && !too_large) || count < 0) return std::nullopt;
  return too_large ? kMostDevices + 1 : std::min(count, kMostDevices + 1);
}

void add_devices(OptionReader& reader, std::string_view word, std::map<std::string, int>& devices) {
  const auto equals = word.find('=');
  const auto count = equals == std::string_view::npos ? 1 : count_of(word.substr(equals + 1));
  auto& sum = devices[std::string(word.substr(0, equals))];
  if (count && equals != 0 && sum + *count > kMostDevices) {
    reader.error(Error{Code::kInvalidArgument,
                       fmt::format("'{}': at most {} of a profile can be asked for",
                                   word.substr(0, 80), kMostDevices),
                       ""});
    return;
  }
  if (!count || equals == 0) {
    reader.error(Error{Code::kInvalidArgument,
                       fmt::format("'{}' is no profile with a number", word.substr(0, 80)),
                       "write a profile and how many of it, such as 1g.10gb=7"});
    return;
  }
  sum += *count;
}

LayoutOptions::Output output_form(OptionReader& reader) {
  using Output = LayoutOptions::Output;
  const auto text = reader.choice("output", "no form");
  if (text == "json") return Output::kJson;
  if (text == "yaml") return Output::kYaml;
  if (text == "svg") return Output::kSvg;
  return text == "parted" ? Output::kParted : Output::kTable;
}

int gpu_count(OptionReader& reader) {
  const auto gpus = reader.get<std::int64_t>("gpus");
  if (gpus >= 0 && gpus <= kMostGpus) return static_cast<int>(gpus);
  reader.error("gpus", fmt::format("{} GPUs cannot be", gpus), "write a number such as 8");
  return 0;
}

}  // namespace

Result<LayoutOptions> load_layout_options(const Sources& sources, unsigned use,
                                          const std::vector<std::string>& words) {
  OptionReader reader(sources, use);
  const auto takes = [&](std::string_view flag) { return find_flag(flag, use) != nullptr; };
  LayoutOptions options{.output = output_form(reader)};
  if (takes("model")) options.model = reader.get<std::string>("model");
  if (takes("gpus")) options.gpus = gpu_count(reader);
  if (takes("svg")) options.svg_file = reader.get<std::string>("svg");
  if (takes("driver-root-ctr-path")) {
    options.driver_root = reader.get<std::string>("driver-root-ctr-path");
    options.host_root = reader.get<std::string>("host-root");
  }
  if (takes("node")) {
    options.node = reader.get<std::string>("node");
    options.snapshot = reader.snapshot();
    options.api_server = reader.api_server();
  }
  for (const auto& word : words) add_devices(reader, word, options.devices);
  return reader.result(std::move(options));
}

}  // namespace tranche::config
