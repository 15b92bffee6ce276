#include "agent/config/config_follower.h"

#include <fmt/format.h>

#include <utility>

namespace tranche::agent {
namespace {

constexpr const char* kRefusal = "refusal";
constexpr const char* kRewriting = "rewriting";

}  // namespace

ConfigFollower::ConfigFollower(ConfigSource& source, config::Loaded first, Options options,
                               const Log& log)
    : source_(source), loaded_(std::move(first)), options_(std::move(options)), log_(log) {}

bool ConfigFollower::look() {
  auto loaded = source_.read();
  if (!loaded && look_again()) {
    wait_for(loaded.error());
    return false;
  }
  said_.forget(kRewriting);
  if (!loaded) {
    refuse(loaded.error());
    return false;
  }
  const bool differs = loaded->config != loaded_.config || loaded->warnings != loaded_.warnings;
  if (differs) {
    const auto fits = options_.check ? options_.check(loaded->config) : Result<void>();
    if (!fits) {
      refuse(fits.error());
      return false;
    }
    log_.info(fmt::format("the configuration has changed ({})", source_.origin()));
    loaded_ = *std::move(loaded);
    ++revision_;
    announce();
  }
  accept();
  return differs;
}

void ConfigFollower::announce() const {
  for (const auto& warning : loaded_.warnings) log_.warn(warning.message);
  log_.info(fmt::format("Running with config:\n{}",
                        options_.effective ? options_.effective(loaded_) : loaded_.json));
  if (options_.describe) log_.info(options_.describe(loaded_.config));
}

void ConfigFollower::accept() {
  said_.forget(kRefusal);
  source_.accepted();
  standing_ = source_.standing();
  if (options_.report) options_.report({.applied = true, .message = source_.origin()});
}

void ConfigFollower::wait_for(const Error& error) {
  if (!said_.is_news(kRewriting, error.what)) return;
  log_.info(fmt::format("{}; until then the old configuration stays in force", error.message()));
}

void ConfigFollower::refuse(const Error& error) {
  if (said_.is_news(kRefusal, error.what)) {
    log_.error(fmt::format("{}; the new configuration is refused, the old one stays in force",
                           error.message()));
  }
  // An API server that does not answer is no fault of the configuration.
  if (error.code == Code::kUnavailable) return;
  standing_ = {ConfigStanding::Is::kOlder};
  if (options_.report) options_.report({.applied = false, .message = error.message()});
}

}  // namespace tranche::agent
