// Rewrites objects as the admission webhook does, for comparison with the chart's policy. Each line
// of standard input is an object; each line of output its JSON patch, or the reason of a refusal as
// a string. Each argument is a model: "NVIDIA L20=46068" (Mi). With --template SHARE in percent
// instead of input: that ResourceClaimTemplate.

#include <charconv>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "admission/rewrite.h"
#include "base/json.h"
#include "base/json_value.h"

namespace {

using tranche::Bytes;
using tranche::admission::Fleet;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void rewrite_lines(const Fleet& fleet) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto object = tranche::json::parse(line);
    auto done =
        object ? tranche::admission::rewrite(*object, fleet, {}) : std::unexpected(object.error());
    std::cout << (done ? done->patch : tranche::json::Value(done.error().message()).text())
              << std::endl;
  }
}

int write_template(const Fleet& fleet, std::string_view percent) {
  const tranche::admission::Share share{.memory = {}, .percent = static_cast<int>(number(percent))};
  const auto made = tranche::admission::claim_template({share}, fleet, {});
  std::cout << (made ? made->json : made.error().message()) << "\n";
  return made ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  Fleet fleet;
  std::string_view percent;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--template" && i + 1 < arguments.size()) {
      percent = arguments[++i];
      continue;
    }
    const auto equals = arguments[i].rfind('=');
    if (equals == std::string_view::npos) return 2;
    fleet.dra_models.push_back(
        {.product = std::string(arguments[i].substr(0, equals)),
         .memory = Bytes::from_mib(number(arguments[i].substr(equals + 1)))});
  }
  if (!percent.empty()) return write_template(fleet, percent);
  rewrite_lines(fleet);
  return 0;
}
