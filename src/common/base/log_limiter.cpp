#include "base/log_limiter.h"

#include <fmt/format.h>

namespace tranche {

void LogLimiter::warn(std::string_view kind, std::string_view text) {
  tell();
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) {
    ++known->second.suppressed;
    known->second.last = text;
    return;
  }
  log_.warn(text);
  kinds_.emplace(kind, Kind{.told = clock_.now()});
}

void LogLimiter::tell() {
  const auto now = clock_.now();
  for (auto entry = kinds_.begin(); entry != kinds_.end();) {
    Kind& kind = entry->second;
    if (now - kind.told < kEach) {
      ++entry;
    } else if (kind.suppressed == 0) {
      entry = kinds_.erase(entry);
    } else {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - kind.told);
      log_.warn(fmt::format("{} ({} times in {} s)", kind.last, kind.suppressed, seconds.count()));
      kind = {.told = now};
      ++entry;
    }
  }
}

}  // namespace tranche
