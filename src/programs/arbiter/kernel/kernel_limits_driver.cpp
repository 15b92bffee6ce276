// The calls of KernelLimits to the driver: they set a limit and read back whether it still holds.
// They run on one thread for each GPU.

#include "arbiter/kernel/kernel_limits.h"
#include "fmt/format.h"

namespace tranche::arbiter {

// The thread that calls the driver about a GPU. nullptr: it cannot be started, and `limit` has the
// error.
process::TaskThread* KernelLimits::asker_of(const std::string& uuid, Limit& limit) {
  auto& asker = askers_[uuid];
  if (asker != nullptr) return asker.get();
  auto started = process::TaskThread::start(poller_);
  if (!started) {
    limit.settled = true;
    limit.failure = started.error().message();
    limit.due = clock_.now() + kAgain;
    return nullptr;
  }
  asker = *std::move(started);
  return asker.get();
}

void KernelLimits::ask(const Place& place, Limit& limit) {
  if (limit.asked) return;  // answered() will ask for the value wanted by then
  process::TaskThread* asker = asker_of(place.second, limit);
  if (asker == nullptr) return;
  limit.asked = true;
  asker->post([this, place, bytes = limit.wanted,
               &limiter = *limiter_]() -> process::TaskThread::Done {
    const auto hard = bytes ? std::optional(Bytes{*bytes}) : std::nullopt;
    const auto done = limiter.set(place.second, place.first, hard);
    // Read back, because the driver may have rounded it.
    auto kept = done ? limiter.read(place.second, place.first) : std::unexpected(done.error());
    return
        [this, place, bytes, done, kept = std::move(kept)] { answered(place, bytes, done, kept); };
  });
}

void KernelLimits::answered(const Place& place, std::optional<std::uint64_t> bytes,
                            const Result<void>& done, const Reading& kept) {
  const auto entry = limits_.find(place);
  if (entry == limits_.end()) return;
  Limit& limit = entry->second;
  limit.asked = false;
  if (limit.wanted != bytes) {
    ask(place, limit);
    return;
  }
  limit.settled = true;
  limit.due = clock_.now() + kAgain;
  limit.failure = done ? "" : done.error().message();
  limit.kept.reset();
  if (kept) limit.kept = *kept;
  settle();
}

// Reads whether the limit that was set still holds.
void KernelLimits::check(const Place& place, Limit& limit) {
  if (limit.asked || !limit.settled || !limit.wanted) return;
  process::TaskThread* asker = asker_of(place.second, limit);
  if (asker == nullptr) return;
  limit.asked = true;
  asker->post([this, place, &limiter = *limiter_]() -> process::TaskThread::Done {
    return
        [this, place, holds = limiter.read(place.second, place.first)] { checked(place, holds); };
  });
}

void KernelLimits::checked(const Place& place, const Reading& holds) {
  const auto entry = limits_.find(place);
  if (entry == limits_.end()) return;
  Limit& limit = entry->second;
  limit.asked = false;
  limit.due = clock_.now() + kAgain;
  if (!limit.settled) return ask(place, limit);  // another limit is wanted by now
  // A driver that does not answer has not dropped the limit.
  if (!holds) return;
  if (!limit.kept) limit.kept = *holds;  // it could not be read when the limit was set
  if (holds->hard == limit.kept->hard) return;
  std::error_code ignored;
  if (!std::filesystem::exists(place.first, ignored)) return;  // the limit went with its container
  const auto now = clock_.now();
  if (!limit.changed_at || now - *limit.changed_at >= kChangeStays) {
    const auto text = [](const std::optional<Bytes>& hard) {
      return hard ? fmt::format("{} MiB", hard->value >> 20U) : std::string("none");
    };
    log_.warn(fmt::format(
        "the kernel's limit of {} on {} was changed by somebody else, from {} to {}: it is set "
        "again; see docs/limits.md, \"Kernel memory limits\"",
        place.first, place.second, text(limit.kept->hard), text(holds->hard)));
  }
  limit.changed = clock_.wall_now();
  limit.changed_at = now;
  ask(place, limit);
}

}  // namespace tranche::arbiter
