#include "web/report.h"

#include <string_view>

#include "fleet/fleet_json.h"
#include "web/assets.h"

namespace tranche::web {
namespace {

constexpr std::string_view kPlace = "@FLEET@";

// JSON has these only within strings, where \u.... means the same. So there is no "</script>", no
// "<!--", and no line separator of JavaScript.
void append_inert(std::string& out, std::string_view json) {
  for (std::size_t at = 0; at < json.size(); ++at) {
    const auto rest = json.substr(at);
    if (rest.front() == '<') {
      out += "\\u003c";
    } else if (rest.front() == '>') {
      out += "\\u003e";
    } else if (rest.front() == '&') {
      out += "\\u0026";
    } else if (rest.starts_with("\u2028")) {
      out += "\\u2028";
      at += 2;
    } else if (rest.starts_with("\u2029")) {
      out += "\\u2029";
      at += 2;
    } else {
      out += rest.front();
    }
  }
}

}  // namespace

std::string report_html(const fleet::Fleet& fleet) {
  const auto page = report_template();
  const auto place = page.find(kPlace);
  const auto json = fleet::to_json(fleet);
  std::string report;
  report.reserve(page.size() + json.size() + json.size() / 16);
  report = page.substr(0, place);
  append_inert(report, json);
  report += page.substr(place + kPlace.size());
  return report;
}

}  // namespace tranche::web
