#include "agent/config/first_config.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>

#include "process/mailbox.h"
#include "process/signals.h"

namespace tranche::agent {
namespace {

// How often a waiting start checks whether the API server has failed.
constexpr std::chrono::milliseconds kLook{250};

// Waits at most `limit` for a signal or a notification. `mailbox`: -1 for none.
void wait(int signals, int mailbox, std::chrono::milliseconds limit = kLook) {
  std::array<pollfd, 2> fds{{{.fd = signals, .events = POLLIN, .revents = 0},
                             {.fd = mailbox, .events = POLLIN, .revents = 0}}};
  (void)!::poll(fds.data(), fds.size(), static_cast<int>(limit.count()));
}

std::optional<config::Loaded> last_good(const FirstConfig& from, const Error& refusal) {
  if (refusal.code == Code::kAlreadyExists) return std::nullopt;
  auto kept = from.source.last_good();
  if (!kept) return std::nullopt;
  from.log.error(fmt::format("{}; what was in force last stays in force ({})", refusal.message(),
                             from.source.origin()));
  return *std::move(kept);
}

std::optional<config::Loaded> wait_for_config(const FirstConfig& from, int signals,
                                              process::Mailbox& mailbox) {
  std::string said;
  while (true) {
    auto loaded = from.source.read();
    if (loaded) return *std::move(loaded);
    const auto& error = loaded.error();
    const bool refused = error.code != Code::kUnavailable;
    if (refused) {
      from.report({.applied = false, .message = error.message()});
      if (auto kept = last_good(from, error)) return kept;
    }
    const bool is_news = refused || !from.source.waits();
    if (is_news && said != error.what) {
      from.log.write(
          refused ? LogLevel::kError : LogLevel::kInfo,
          fmt::format("{}; no GPU is advertised until there is a configuration", error.message()));
      said = error.what;
    }
    from.status.beat({.ready = false, .text = error.what});
    wait(signals, mailbox.fd());
    mailbox.take();
    if (process::ends_process(process::next_signal(signals))) return std::nullopt;
  }
}

}  // namespace

Result<std::optional<config::Loaded>> first_config(const FirstConfig& from, int signals) {
  ASSIGN_OR_RETURN(const auto mailbox, process::Mailbox::open());
  from.notifier.listen([&] { mailbox->post([] {}); });
  auto config = wait_for_config(from, signals, *mailbox);
  from.notifier.listen({});
  return config;
}

Result<void> has_first_config(ConfigSource& source, SaidOnce& said, const Log& log) {
  const auto loaded = source.read();
  if (loaded) return {};
  const auto code = loaded.error().code;
  const bool kept =
      code != Code::kUnavailable && code != Code::kAlreadyExists && source.last_good().has_value();
  if (kept) return {};
  const bool may_still_come = code == Code::kUnavailable && source.waits();
  const auto text = fmt::format("not prepared to take over: {}", loaded.error().message());
  if (!may_still_come && said.is_news("prepare", text)) log.warn(text);
  return std::unexpected(loaded.error());
}

Result<std::optional<config::Loaded>> read_when_whole(ConfigSource& source, int signals,
                                                      const Log& log) {
  bool said = false;
  while (true) {
    auto loaded = source.read();
    const auto again = source.retry_after();
    if (loaded || !again) return loaded;
    if (!said) log.info(loaded.error().message());
    said = true;
    wait(signals, -1, *again);
    if (process::ends_process(process::next_signal(signals))) return std::nullopt;
  }
}

}  // namespace tranche::agent
