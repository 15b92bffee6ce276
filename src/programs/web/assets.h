#pragma once
// The files of the web page, as web/ was bundled when this program was built. They live as long as
// the program.

#include <optional>
#include <string_view>

namespace tranche::web {

struct Asset {
  std::string_view content_type;
  std::string_view body;
  std::string_view etag;  // as the header has it, with quotes; another one for another body
};

// `path` as in the request line, without a query: "/", "/app.js". nullopt: no such file.
std::optional<Asset> find_asset(std::string_view path);

// The page as one file, with "@FLEET@" once, where the data belongs (report.h).
std::string_view report_template();

}  // namespace tranche::web
