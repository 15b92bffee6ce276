// Arbitrary text as a header Accept, and as the value of a label.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "metrics/exposition.h"
#include "metrics/format.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

bool names_open_metrics(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("application/openmetrics-text") != std::string::npos;
}

// Nothing in it ends the label or the line, or makes Prometheus refuse the page.
void require_escaped(std::string_view value) {
  for (std::string_view rest = value; !rest.empty();) {
    const Utf8Step step = utf8_step(rest);
    require(step.is_valid);
    const char first = rest.front();
    require(first != '"' && (static_cast<unsigned char>(first) >= 0x20) && first != 0x7F);
    rest.remove_prefix(step.length);
    if (first != '\\') continue;
    require(rest.starts_with('n') || rest.starts_with('"') || rest.starts_with('\\'));
    rest.remove_prefix(1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto format = metrics::negotiate(text);
  require(format == metrics::Format::kPrometheusText || names_open_metrics(text));
  // One more element that refuses OpenMetrics takes back nothing.
  require(metrics::negotiate(text + ",application/openmetrics-text;q=0") == format);

  metrics::LabelText labels;
  labels.add("a", text);
  if (text.empty()) {
    require(labels.text().empty());
    return 0;
  }
  const std::string_view written = labels.text();
  require(written.starts_with("a=\"") && written.ends_with('"') && written.size() >= 5);
  require_escaped(written.substr(3, written.size() - 4));
  return 0;
}
