#include "arbiter/arbiter.h"

#include <random>

#include "base/fs.h"
#include "fmt/format.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

constexpr std::size_t kLargestFile = 64U << 10U;

Batch batch_of(const wire::Interval& interval) {
  const auto time = [](std::uint64_t ns) { return Ns{static_cast<std::int64_t>(ns)}; };
  return {{time(interval.begin), time(interval.end)}, time(interval.asked_ns)};
}

}  // namespace

Arbiter::Arbiter(ArbiterOptions options, Watch watch, Poller poller, const Clock& clock,
                 const Log& log)
    : options_(std::move(options)),
      alive_(options_.state_dir, clock),
      watch_(std::move(watch)),
      poller_(std::move(poller)),
      clock_(clock),
      log_(log),
      epoch_(std::random_device{}()) {}

Arbiter::~Arbiter() { poller_.remove(watch_.fd()); }

Result<std::unique_ptr<Arbiter>> Arbiter::open(const ArbiterOptions& options, const Clock& clock,
                                               const Log& log) {
  std::error_code error;
  std::filesystem::create_directories(options.state_dir, error);
  if (error) return std::unexpected(errno_error(error.value(), options.state_dir.string()));
  ASSIGN_OR_RETURN(auto watch, Watch::open({options.tenants}));
  ASSIGN_OR_RETURN(auto poller, Poller::create());
  std::unique_ptr<Arbiter> arbiter(
      new Arbiter(options, std::move(watch), std::move(poller), clock, log));
  TRY(arbiter->poller_.add(arbiter->watch_.fd(), [a = arbiter.get()] {
    if (a->watch_.drain()) a->scan();
  }));
  arbiter->scan();
  return arbiter;
}

Ns Arbiter::now() const { return std::chrono::duration_cast<Ns>(clock_.now().time_since_epoch()); }

void Arbiter::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) round(awake_ ? kTick : kRest);
}

void Arbiter::round(std::chrono::milliseconds timeout) {
  poller_.wait(timeout);
  alive_.beat();
  if (step()) {
    last_work_ = now();
    set_awake(true);
  } else if (awake_ && now() - last_work_ >= kLinger) {
    set_awake(false);
    // Who began meanwhile saw that it was awake and did not call.
    if (step()) set_awake(true);
  }
}

Ns Arbiter::charged(const std::string& tenant, unsigned index) const {
  const auto entry = seats_.find(tenant);
  if (entry == seats_.end()) return Ns{0};
  const auto& [id, seat, text] = entry->second;
  return devices_.at(seat->limits().devices[index].uuid).charged(id);
}

void Arbiter::scan() {
  const FsRoot files;
  std::set<std::string> there;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.tenants, error)) {
    if (entry.path().extension() != ".json") continue;
    const std::string id = entry.path().stem();
    const auto text = files.read(entry.path(), kLargestFile);
    if (!text) continue;  // gone again, or to be read when it is written
    there.insert(id);
    take_in(id, *text);
  }
  if (error) {  // a folder that cannot be read says nothing about who is gone
    log_.error(fmt::format("{}: {}", options_.tenants.string(), error.message()));
    return;
  }
  std::set<std::string> gone;
  for (const auto& [id, seat] : seats_) {
    if (!there.contains(id)) gone.insert(id);
  }
  for (const auto& id : gone) let_go(id);
}

void Arbiter::take_in(const std::string& id, const std::string& text) {
  const auto known = seats_.find(id);
  if (known != seats_.end() && known->second.text == text) return;
  if (const auto told = refused_.find(id); told != refused_.end() && told->second == text) return;
  const auto refuse = [&](const Error& why) {
    refused_[id] = text;
    log_.error(
        fmt::format("tenant {}: {}; {}", id, why.message(),
                    known == seats_.end() ? "it is not served" : "its limits stay as they were"));
  };
  auto limits = decode(text);
  if (!limits) return refuse(limits.error());
  if (limits->id != id) {
    return refuse({Code::kInvalidArgument, fmt::format("its file is that of {}", limits->id)});
  }
  if (known != seats_.end()) {
    if (const auto changed = known->second.seat->change(*std::move(limits)); !changed) {
      return refuse(changed.error());
    }
    known->second.text = text;
    sit(known->second);
  } else {
    auto seat = TenantSeat::open(
        *std::move(limits), {options_.tenants / id / "arbiter.sock", options_.state_dir, epoch_},
        poller_, log_,
        [](wire::Message, unsigned) {});  // being called is enough: the step comes after it
    if (!seat) return refuse(seat.error());
    const auto entry = seats_.emplace(id, Seat{TenantId{next_id_++}, *std::move(seat), text}).first;
    entry->second.seat->policy().awake = awake_ ? 1 : 0;
    sit(entry->second);
  }
  refused_.erase(id);
}

void Arbiter::sit(Seat& seat) {
  const auto& devices = seat.seat->limits().devices;
  for (unsigned i = 0; i < devices.size(); ++i) {
    devices_.try_emplace(devices[i].uuid, now()).first->second.put(seat.id, *seat.seat, i);
  }
}

void Arbiter::let_go(const std::string& id) {
  const auto entry = seats_.find(id);
  for (const auto& device : entry->second.seat->limits().devices) {
    devices_.at(device.uuid).remove(entry->second.id);
  }
  std::erase_if(devices_, [](const auto& device) { return device.second.empty(); });
  entry->second.seat->retire();
  seats_.erase(entry);
}

// Reads every slot once, then steps every device.
bool Arbiter::step() {
  std::map<std::string, std::map<TenantId, Activity>> activities;
  for (auto& [name, seat] : seats_) {
    const auto& devices = seat.seat->limits().devices;
    for (const auto& device : devices) activities[device.uuid][seat.id];
    for (const unsigned slot : seat.seat->slots()) {
      const tenant::SlotReading reading = seat.seat->usage().read(slot);
      for (const wire::Interval& interval : reading.intervals) {
        activities[devices[interval.device].uuid][seat.id].ended.push_back(batch_of(interval));
      }
      for (unsigned i = 0; i < devices.size(); ++i) {
        Activity& activity = activities[devices[i].uuid][seat.id];
        activity.waiting |= reading.waiting[i] > 0;
        if (reading.busy_since[i] == 0) continue;
        const Ns since{static_cast<std::int64_t>(reading.busy_since[i])};
        activity.busy_since = std::min(activity.busy_since.value_or(since), since);
      }
    }
  }
  bool is_busy = false;
  for (auto& [uuid, device] : devices_) is_busy |= device.step(now(), std::move(activities[uuid]));
  const auto heartbeat = static_cast<std::uint64_t>(now().count());
  for (auto& [name, seat] : seats_) seat.seat->policy().heartbeat = heartbeat;
  return is_busy;
}

void Arbiter::set_awake(bool awake) {
  if (awake_ == awake) return;
  awake_ = awake;
  for (auto& [name, seat] : seats_) seat.seat->policy().awake = awake ? 1 : 0;
}

}  // namespace tranche::arbiter
