// A file of an incident that somebody sent. Nothing in it reaches the terminal as more than a line
// of printable text, and what was read is written and read again as the same.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/envelope.h"
#include "base/json.h"
#include "cli/incident/show.h"
#include "incidents/incident_json.h"

namespace {

using namespace tranche;

void require(bool holds) {
  if (!holds) std::abort();
}

void require_printable(const std::string& text) {
  require(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

void show(const std::string& text) {
  const auto incident = incidents::decode(text);
  if (!incident) return require_printable(incident.error().message());
  for (const auto form : {config::OutputForm::kTable, config::OutputForm::kJson}) {
    const auto one = cli::show_incident(*incident, form);
    const auto list = cli::show_incidents({*incident}, form);
    if (form != config::OutputForm::kTable) continue;
    require_printable(one);
    require_printable(list);
  }
  const auto again = incidents::decode(incidents::encode(*incident));
  require(again.has_value());
  require(again->holders == incident->holders);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  show(text);
  // With the right checksum, which nothing keeps anybody from making.
  if (const auto parsed = json::parse(text)) {
    show(seal({.version = "incident/v1", .key = "incident"}, text));
  }
  return 0;
}
