#include "cdi/driver_roots.h"

#include <optional>

namespace tranche::cdi {
namespace {

constexpr int kMostLinks = 40;  // as Linux follows

using std::filesystem::path;

// The rest of the way after its first link.
struct Followed {
  path way;
  bool on_host = false;  // the link leads to the host; otherwise `way` is in the driver root
};

// nullopt: no link on the way.
std::optional<Followed> follow_first_link(const FsRoot& driver, const path& way) {
  path walked = "/";
  for (auto part = way.begin(); part != way.end(); ++part) {
    if (*part == "/") continue;
    const auto target = driver.read_link(walked / *part);
    if (!target) {
      walked /= *part;
      continue;
    }
    auto next = walked / *target;  // an absolute target replaces the path so far
    for (++part; part != way.end(); ++part) next /= *part;
    return Followed{next.lexically_normal(), target->starts_with('/')};
  }
  return std::nullopt;
}

// The host's path as seen in the driver root; nullopt: it is elsewhere.
std::optional<path> below(const path& driver_on_host, const path& way) {
  const auto rest = way.lexically_relative(driver_on_host);
  if (rest.empty() || *rest.begin() == "..") return std::nullopt;
  return ("/" / rest).lexically_normal();
}

}  // namespace

bool is_there(const DriverRoots& roots, const std::string& file) {
  path way = path(file).lexically_normal();
  for (int i = 0; i < kMostLinks; ++i) {
    const auto next = follow_first_link(roots.driver, way);
    if (!next) return roots.driver.exists(way);
    const auto inside = next->on_host ? below(roots.driver_on_host, next->way) : next->way;
    if (!inside) return roots.host.exists(next->way);
    way = *inside;
  }
  return false;
}

bool is_dangling(const DriverRoots& roots, const std::string& file) {
  return roots.driver.read_link(file).has_value() && !is_there(roots, file);
}

}  // namespace tranche::cdi
