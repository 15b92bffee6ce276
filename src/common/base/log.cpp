#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace tranche {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

bool is_control(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto c1 = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) < 0xA0; };
  // U+0080 to U+009F, two bytes in UTF-8.
  if (byte(at) == 0xC2 && c1(at + 1)) return true;
  if (at > 0 && byte(at - 1) == 0xC2 && c1(at)) return true;
  return byte(at) < 0x20 || byte(at) == 0x7F;
}

std::string without_controls(std::string_view message) {
  std::string result;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (c != '\n' && is_control(message, i)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warn") return LogLevel::kWarn;
  if (text == "error") return LogLevel::kError;
  return fail(Code::kInvalidArgument, fmt::format("unknown log level '{}'", text),
              "use debug, info, warn or error");
}

struct Log::Impl {
  LogLevel level;
  Sink sink;
  std::mutex mutex;
};

Log::Log(LogLevel level) : impl_(std::make_unique<Impl>()) {
  auto out = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  out->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %L %v",
                                                                 spdlog::pattern_time_type::utc));
  auto logger = std::make_shared<spdlog::logger>("tranche", out);
  logger->set_level(spdlog::level::trace);  // Log::write has chosen the levels already
  impl_->level = level;
  impl_->sink = [logger](LogLevel at, std::string_view message) {
    logger->log(to_spdlog(at), spdlog::string_view_t(message.data(), message.size()));
  };
}

Log::Log(LogLevel level, Sink sink) : impl_(std::make_unique<Impl>()) {
  impl_->level = level;
  impl_->sink = std::move(sink);
}

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view message) const {
  if (level < impl_->level) return;
  const std::scoped_lock lock(impl_->mutex);
  impl_->sink(level, without_controls(message));
}

}  // namespace tranche
