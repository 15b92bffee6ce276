#include "config/programs/layout_options.h"

#include <charconv>
#include <optional>

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

constexpr int kMostDevices = 1'000'000;

std::optional<int> count_of(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = end == text.data() + text.size();
  if (error != std::errc() || !whole || count < 0 || count > kMostDevices) return std::nullopt;
  return count;
}

void add_devices(OptionReader& reader, std::string_view word, std::map<std::string, int>& devices) {
  const auto equals = word.find('=');
  const auto count = equals == std::string_view::npos ? 1 : count_of(word.substr(equals + 1));
  if (!count || word.substr(0, equals).empty()) {
    reader.error(Error{Code::kInvalidArgument,
                       fmt::format("'{}' is no profile with a number", word.substr(0, 80)),
                       "write a profile and how many of it, such as 1g.10gb=7"});
    return;
  }
  devices[std::string(word.substr(0, equals))] += *count;
}

OutputForm output_form(OptionReader& reader) {
  const auto text = reader.choice("output", "no form");
  if (text == "json") return OutputForm::kJson;
  return text == "yaml" ? OutputForm::kYaml : OutputForm::kTable;
}

}  // namespace

Result<LayoutOptions> load_layout_options(const Sources& sources, unsigned use,
                                          const std::vector<std::string>& words) {
  OptionReader reader(sources, use);
  LayoutOptions options{.output = output_form(reader)};
  if (find_flag("model", use) != nullptr) options.model = reader.get<std::string>("model");
  for (const auto& word : words) add_devices(reader, word, options.devices);
  return reader.result(std::move(options));
}

}  // namespace tranche::config
