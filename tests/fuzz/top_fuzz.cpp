// A filter or a line of a recording, as whoever typed or sent it chose it. A frame of what was read
// has the size that it is told, whatever the names in it, and no control characters.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "top/source/recording.h"
#include "top/view/filter.h"
#include "top/view/session.h"

namespace {

using namespace tranche::top;

void require(bool holds) {
  if (!holds) std::abort();
}

void show(const Reading& reading, const Settings& settings) {
  Session session(settings);
  session.take(std::make_shared<const Reading>(reading));
  for (const std::size_t width : {1, 40, 120}) {
    for (const auto& line : session.frame({width, 12}, {.from = "f"})) {
      std::string text;
      for (const auto& span : line.spans) text += span.text;
      require(columns(text) == width);
      for (const char c : text) require(static_cast<unsigned char>(c) >= ' ');
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Settings settings;
  if (auto filter = Filter::parse(text)) settings.filter = *std::move(filter);
  show(reading_of(tranche::usage::NodeUsage{.gpus = {{.model = text}}}), settings);
  if (const auto reading = parse_recorded(text)) {
    show(*reading, {});
    show(*reading, {.sort = Sort::kMemory, .reverse = true, .tree = false});
    require(parse_recorded(recorded_text(*reading)) == *reading);
  }
  return 0;
}
