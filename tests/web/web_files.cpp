// web_files OUT FLEET.json: the page's files into OUT as they are served, and OUT/report.html of
// the fleet.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "fleet/fleet_json.h"
#include "web/assets.h"
#include "web/report.h"

namespace {

void write(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string out = argv[1];
  std::ifstream file(argv[2], std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  const auto fleet = tranche::fleet::parse_fleet(json);
  if (!fleet) {
    std::cerr << fleet.error().message() << '\n';
    return 1;
  }
  for (const std::string name : {"", "app.js", "app.css", "favicon.svg"}) {
    const auto asset = tranche::web::find_asset('/' + name);
    if (!asset) return 1;
    write(out + '/' + (name.empty() ? "index.html" : name), asset->body);
  }
  write(out + "/report.html", tranche::web::report_html(*fleet));
}
