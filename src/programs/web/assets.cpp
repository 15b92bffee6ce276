#include "web/assets.h"

#include <array>
#include <cstdint>
#include <string>

// assets.S
extern "C" {
extern const char tranche_web_index[], tranche_web_index_end[];
extern const char tranche_web_script[], tranche_web_script_end[];
extern const char tranche_web_style[], tranche_web_style_end[];
extern const char tranche_web_icon[], tranche_web_icon_end[];
extern const char tranche_web_report[], tranche_web_report_end[];
}

namespace tranche::web {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// FNV-1a. It tells one build's file from another's, and keeps no secret.
std::string etag_of(std::string_view body) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : body) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string etag = "\"";
  for (int shift = 60; shift >= 0; shift -= 4) etag += kDigits[(hash >> shift) & 0xfU];
  return etag + '"';
}

struct File {
  std::string_view path;
  std::string_view content_type;
  std::string_view body;
  std::string etag = etag_of(body);
};

const auto& files() {
  static const std::array<File, 4> kFiles = {{
      {"/", "text/html; charset=utf-8", between(tranche_web_index, tranche_web_index_end)},
      {"/app.js", "text/javascript; charset=utf-8",
       between(tranche_web_script, tranche_web_script_end)},
      {"/app.css", "text/css; charset=utf-8", between(tranche_web_style, tranche_web_style_end)},
      {"/favicon.svg", "image/svg+xml", between(tranche_web_icon, tranche_web_icon_end)},
  }};
  return kFiles;
}

}  // namespace

std::optional<Asset> find_asset(std::string_view path) {
  for (const auto& file : files()) {
    if (file.path == path) return Asset{file.content_type, file.body, file.etag};
  }
  return std::nullopt;
}

std::string_view report_template() { return between(tranche_web_report, tranche_web_report_end); }

}  // namespace tranche::web
