#include "arbiter/tenant_session.h"

#include <algorithm>

#include "fmt/format.h"
#include "limit/uuid_bytes.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

Result<tenant::PolicyPage> page_for(const TenantLimits& limits) {
  tenant::PolicyPage::Uuid uuids[wire::kMaxDevices] = {};
  if (limits.devices.size() > wire::kMaxDevices) {
    return fail(Code::kInvalidArgument, fmt::format("{} devices", limits.devices.size()));
  }
  for (std::size_t i = 0; i < limits.devices.size(); ++i) {
    const auto bytes = uuid_bytes(limits.devices[i].uuid);
    if (!bytes) {
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' is not the UUID of a device", limits.devices[i].uuid));
    }
    std::ranges::copy(*bytes, uuids[i]);
  }
  return tenant::PolicyPage::create(std::span(uuids).first(limits.devices.size()));
}

using Failure = tenant::Usage::Failure;
// A process may write any time; one of the future would hide all later ones.
void take_later(Failure& last, const Failure& other, std::uint64_t now) {
  if (other.at > last.at && other.at <= now) last = other;
}

}  // namespace

TenantSession::TenantSession(TenantLimits limits, SessionOptions options, Opened opened,
                             Ports ports)
    : limits_(std::move(limits)),
      options_(std::move(options)),
      policy_(std::move(opened.policy)),
      usage_(std::move(opened.usage)),
      listener_(std::move(opened.listener)),
      ports_(std::move(ports)),
      told_(ports_.clock, ports_.log) {}

Result<std::unique_ptr<TenantSession>> TenantSession::open(TenantLimits limits,
                                                           const SessionOptions& options,
                                                           Ports ports) {
  ASSIGN_OR_RETURN(auto policy, page_for(limits));
  ASSIGN_OR_RETURN(auto usage, tenant::Usage::open(options.state_dir, limits.id,
                                                   static_cast<unsigned>(limits.devices.size())));
  ASSIGN_OR_RETURN(auto listener, tenant::Listener::open(options.socket));
  std::unique_ptr<TenantSession> session(new TenantSession(
      std::move(limits), options, {std::move(policy), std::move(usage), std::move(listener)},
      std::move(ports)));
  session->publish();
  TRY(session->adopt());
  TRY(session->listen());
  return session;
}

TenantSession::~TenantSession() {
  ports_.poller.remove(listener_.fd());
  for (const auto& [key, member] : members_) {
    ports_.poller.remove(member.process.fd());
    if (member.connection) ports_.poller.remove(member.connection->fd());
  }
}

// Takes over the processes that registered with the previous arbiter and still run.
Result<void> TenantSession::adopt() {
  for (const tenant::ProcessId& id : usage_.owners()) {
    auto process = tenant::Process::open(id);
    if (!process) {
      // Another error says nothing about the process, so what it holds must count.
      if (process.error().code != Code::kNotFound) return std::unexpected(process.error());
      release(id);
      continue;
    }
    ASSIGN_OR_RETURN(const unsigned slot, usage_.take(id));
    Member member{*std::move(process), Places::Lease(ports_.places), slot};
    TRY(watch(members_.emplace(id.pid, std::move(member)).first->second));
  }
  note_slots();
  if (!usage_.awaits_file()) return {};
  if (!usage_.somebody_may_hand_over()) return usage_.give_up();
  // What they may request is known once their earlier requests are known.
  for (wire::DevicePolicy& device : policy().devices) device.closed = is_held() ? 1 : 0;
  return {};
}

// Without `memory`: a library of an earlier release, or a program that closed all its descriptors.
void TenantSession::take_over(tenant::ProcessId from,
                              std::optional<tenant::ForeignDescriptor> memory) {
  if (!memory) {
    usage_.came_without(from);
    if (!usage_.somebody_may_hand_over()) give_up_usage();
    return;
  }
  if (const auto taken = usage_.take_over(*std::move(memory)); !taken) {
    ports_.log.warn(fmt::format("tenant {}: process {}: {}; the tenant's memory is counted anew",
                                limits_.id, from.pid, taken.error().message()));
    if (options_.on_foreign_file) options_.on_foreign_file(from);
    return give_up_usage();
  }
  answer_held();
}

void TenantSession::give_up_usage() {
  if (!usage_.awaits_file()) return;
  if (const auto given_up = usage_.give_up(); !given_up) {
    ports_.log.error(fmt::format("tenant {}: {}", limits_.id, given_up.error().message()));
    return;  // tried again in the next round
  }
  answer_held();
}

Result<void> TenantSession::change(TenantLimits limits) {
  const auto uuid = [](const DeviceLimits& device) { return device.uuid; };
  if (!std::ranges::equal(limits.devices, limits_.devices, {}, uuid, uuid)) {
    return fail(Code::kInvalidArgument,
                fmt::format("tenant {}: its devices cannot change while it lives", limits_.id));
  }
  limits_ = std::move(limits);
  lent_.clear();
  publish();
  return {};
}

void TenantSession::publish() {
  wire::PolicyPage& page = policy_.get();
  page.enforcement = static_cast<std::uint32_t>(limits_.enforcement);
  page.priority = static_cast<std::uint32_t>(limits_.priority);
  page.epoch = options_.epoch;
  for (std::size_t i = 0; i < limits_.devices.size(); ++i) {
    const auto memory = limits_.devices[i].memory;
    const auto promised = is_held() && memory ? memory->value : std::uint64_t{wire::kNoLimit};
    const auto lent = lent_.find(static_cast<unsigned>(i));
    const auto limit = lent == lent_.end() ? promised : lent->second;
    page.devices[i].memory_limit = without_memory_.contains(static_cast<unsigned>(i)) ? 0 : limit;
    page.devices[i].memory_view = promised;
    if (!is_held()) {
      page.devices[i].allowed_ns = wire::kNoLimit;
      page.devices[i].closed = 0;
      page.devices[i].in_flight_ns = 0;
    }
  }
}

std::uint64_t TenantSession::held(unsigned device) {
  return wire::add(policy().devices[device].outside, usage_.charged(device));
}

void TenantSession::note_slots() {
  slots_.clear();
  for (const auto& [key, member] : members_) slots_.push_back(member.slot);
}

void TenantSession::prefetch(std::size_t first, std::size_t most) const {
  for (std::size_t i = 0; i < limits_.devices.size(); ++i) {
    __builtin_prefetch(&policy().devices[i], 1);
  }
  for (std::size_t i = 0; i < std::min(most, slots_.size()); ++i) {
    usage_.prefetch(slots_[(first + i) % slots_.size()]);
  }
}

std::vector<TenantSession::Registered> TenantSession::registered() const {
  std::vector<Registered> result;
  for (const auto& [key, member] : members_) {
    result.push_back({member.process.id().pid, member.slot});
  }
  return result;
}

bool TenantSession::is_waiting(unsigned device) const {
  if (slots_.size() > kFew) return true;
  return std::ranges::any_of(slots_,
                             [&](unsigned slot) { return usage_.waiting(slot, device) > 0; });
}

TenantSession::Totals TenantSession::totals() {
  Totals totals = ended_;
  for (const auto& [key, member] : members_) add(member, totals);
  return totals;
}

void TenantSession::add(const Member& member, Totals& totals) const {
  const auto summary = usage_.counts(member.slot);
  totals.refused += summary.refused;
  totals.longest_ns = std::max(totals.longest_ns, summary.longest_ns);
  totals.driver_refused += summary.driver_refused;
  const auto now = static_cast<std::uint64_t>(ports_.clock.now().time_since_epoch().count());
  take_later(totals.last_refused, summary.last_refused, now);
  take_later(totals.last_driver_refused, summary.last_driver_refused, now);
}

void TenantSession::tidy(std::chrono::nanoseconds now) {
  release_rest();
  dismiss_lost(now);
  turned_away_.clear();
  told_.tell();
  if (!is_listening_) {
    if (const auto listening = listen(); !listening) {
      told_.warn("accept", listening.error().message());
    }
  }
  if (!usage_.awaits_file()) return;
  if (!awaited_since_) awaited_since_ = now;
  if (now - *awaited_since_ < kHandOver) return;
  ports_.log.warn(
      fmt::format("tenant {}: none of its processes handed over what the arbiter before knew "
                  "of them; their memory is counted anew",
                  limits_.id));
  give_up_usage();
}

// Logs the first failure of several. The charges of a slot that is not freed continue to count.
void TenantSession::release(const tenant::ProcessId& process) {
  const auto released = usage_.release(process);
  if (released) return;
  if (unreleased_.empty()) {
    ports_.log.warn(
        fmt::format("tenant {}: what process {} held is not given back: {}; tried each second",
                    limits_.id, process.pid, released.error().message()));
  }
  unreleased_.push_back(process);
}

void TenantSession::release_rest() {
  if (unreleased_.empty()) return;
  std::erase_if(unreleased_,
                [&](const auto& process) { return usage_.release(process).has_value(); });
  if (!unreleased_.empty()) return;
  ports_.log.info(
      fmt::format("tenant {}: what its ended processes held is given back", limits_.id));
}

void TenantSession::retire() {
  ports_.poller.remove(listener_.fd());
  std::error_code ignored;  // the folder may already be removed
  std::filesystem::remove(options_.socket, ignored);
  tenant::Usage::remove(options_.state_dir, limits_.id);
}

Result<void> TenantSession::listen() {
  TRY(ports_.poller.add(listener_.fd(), [this] { accept_all(); }));
  is_listening_ = true;
  return {};
}

void TenantSession::accept_all() {
  // Bounded, so that a tenant that connects without end does not hold up the others. The rest is
  // accepted in the next round.
  for (int i = 0; i < 16; ++i) {
    auto peer = listener_.accept();
    if (!peer) {
      told_.warn("accept",
                 fmt::format("tenant {}: {}; tried again each second (LimitNOFILE of the arbiter)",
                             limits_.id, peer.error().message()));
      // The socket stays readable. It is ignored for a second; otherwise the loop would spin.
      ports_.poller.remove(listener_.fd());
      is_listening_ = false;
      return;
    }
    if (!*peer) return;
    greet(std::move(**peer));
  }
}

// Takes a new connection. Its process becomes a member here, before its hello; a process has one
// connection.
void TenantSession::greet(tenant::Peer peer) {
  const Key key = peer.process.id().pid;
  const auto known = members_.find(key);
  if (known != members_.end() && known->second.process.id() != peer.process.id()) {
    dismiss(key);  // the member is an earlier process with that pid
  }
  const auto entry = members_.find(key);
  Member* member = entry != members_.end() ? &entry->second
                                           : add_member(std::move(peer.process), peer.connection);
  if (member == nullptr) return;
  if (member->connection) ports_.poller.remove(member->connection->fd());
  member->connection = std::move(peer.connection);
  member->is_lost = false;
  member->lost_since.reset();
  if (!ports_.poller.add(member->connection->fd(), [this, key] { receive(key); })) dismiss(key);
}

// nullptr: there is no room, which it was informed of, or it cannot be watched.
TenantSession::Member* TenantSession::add_member(tenant::Process process,
                                                 tenant::Connection& connection) {
  const tenant::ProcessId id = process.id();
  if (!ports_.places.may_take(members_.size())) {
    turn_away(connection, fmt::format("{} processes of it are served, and the arbiter may open too "
                                      "few files for more (LimitNOFILE)",
                                      members_.size()));
    return nullptr;
  }
  const auto slot = usage_.take(id);
  if (!slot) {
    turn_away(connection, slot.error().message());
    return nullptr;
  }
  // It still runs, and closed its connection before: the slot is in use again.
  std::erase(unreleased_, id);
  Member& member =
      members_.emplace(id.pid, Member{std::move(process), Places::Lease(ports_.places), *slot})
          .first->second;
  member.is_new = true;
  ++changes_;
  note_slots();
  if (watch(member)) return &member;
  dismiss(id.pid);
  return nullptr;
}

void TenantSession::turn_away(tenant::Connection& connection, std::string_view why) {
  told_.warn("full", fmt::format("tenant {}: {}", limits_.id, why));
  const wire::Welcome full{wire::kHelloMagic, wire::Message::kWelcome, wire::Answer::kFull, 0, 0};
  (void)connection.send(full, -1, -1);  // best effort: the process may be gone
  // Closing would discard the answer for a process that has sent hello, or is about to.
  constexpr std::size_t kMost = 8;
  if (turned_away_.size() == kMost) turned_away_.erase(turned_away_.begin());
  turned_away_.push_back(std::move(connection));
}

Result<void> TenantSession::watch(Member& member) {
  return ports_.poller.add(member.process.fd(),
                           [this, key = member.process.id().pid] { dismiss(key); });
}

// Reads one message a call, so that a tenant that sends without end does not hold up the others.
void TenantSession::receive(Key key) {
  const auto entry = members_.find(key);
  if (entry == members_.end()) return;
  Member& member = entry->second;
  std::optional<tenant::ForeignDescriptor> memory;
  const bool may_hand_over = usage_.may_hand_over(member.process.id());
  auto message = member.connection->receive(may_hand_over ? &memory : nullptr);
  if (!message) {
    if (message.error().code == Code::kInvalidArgument) {
      told_.warn("garbage", fmt::format("tenant {}: {}", limits_.id, message.error().message()));
      dismiss(key);
    } else {
      lose_connection(key);
    }
    return;
  }
  if (!*message) return;
  if (const auto* hello = std::get_if<wire::Hello>(&**message)) {
    const bool is_another_program = member.is_told && hello->slot == wire::kMaxProcesses;
    if (is_another_program && !begin_anew(member)) return dismiss(key);
    welcome(member, *hello);
    // Answers this hello too, and may dismiss the member.
    if (may_hand_over) take_over(member.process.id(), std::move(memory));
  } else {
    const auto& notice = std::get<wire::Notice>(**message);
    if (notice.device < limits_.devices.size()) ports_.on_notice(notice.kind, notice.device);
  }
}

// The connection has ended, and usually the process. One that still runs has closed a descriptor
// that it did not know, and its library registers again: until then it remains a member.
void TenantSession::lose_connection(Key key) {
  Member& member = members_.at(key);
  if (member.process.has_ended()) return dismiss(key);
  ports_.poller.remove(member.connection->fd());
  member.connection.reset();
  member.held.reset();
  member.is_lost = true;
  ++changes_;
}

std::vector<pid_t> TenantSession::lost() const {
  std::vector<pid_t> result;
  for (const auto& [key, member] : members_) {
    if (member.is_lost) result.push_back(key);
  }
  return result;
}

void TenantSession::release_lost(pid_t pid) {
  const auto member = members_.find(pid);
  if (member != members_.end() && member->second.is_lost) dismiss(pid);
}

void TenantSession::dismiss_lost(std::chrono::nanoseconds now) {
  std::vector<Key> gone;
  for (auto& [key, member] : members_) {
    if (!member.is_lost) continue;
    if (!member.lost_since) member.lost_since = now;
    if (now - *member.lost_since >= kReturn) gone.push_back(key);
  }
  for (const Key key : gone) dismiss(key);
}

// The process runs another program now (exec), and what the previous one held is gone. False: it
// has no slot any more.
bool TenantSession::begin_anew(Member& member) {
  settle(member);
  if (!usage_.release(member.process.id())) return false;
  const auto slot = usage_.take(member.process.id());
  if (!slot) return false;
  member.slot = *slot;
  member.is_new = true;
  member.is_told = false;
  ++changes_;
  note_slots();
  return true;
}

// Applies what the member did and was not applied yet.
void TenantSession::settle(const Member& member) {
  add(member, ended_);
  const auto reading = usage_.read(member.slot);
  left_.insert(left_.end(), reading.intervals.begin(), reading.intervals.end());
}

void TenantSession::answer_held() {
  std::vector<Key> held;
  for (const auto& [key, member] : members_) {
    if (member.held) held.push_back(key);
  }
  for (const Key key : held) {
    // Answering one process may have dismissed another.
    const auto entry = members_.find(key);
    if (entry == members_.end() || !entry->second.held) continue;
    const wire::Hello hello = *entry->second.held;  // a copy: welcome() resets member.held
    welcome(entry->second, hello);
  }
}

void TenantSession::lend_memory(unsigned device, std::uint64_t bytes) {
  const auto [lent, is_new] = lent_.try_emplace(device, bytes);
  if (!is_new && std::exchange(lent->second, bytes) == bytes) return;
  publish();
}

void TenantSession::hold_memory(unsigned device, bool held) {
  const bool changed =
      held ? without_memory_.insert(device).second : without_memory_.erase(device) != 0;
  if (changed) publish();
}

void TenantSession::welcome(Member& member, const wire::Hello& hello) {
  const bool waits = usage_.awaits_file() || (options_.may_answer != nullptr &&
                                              !options_.may_answer(*this, member.process.id()));
  member.held = waits ? std::optional(hello) : std::nullopt;
  if (waits) return;
  const bool known = hello.version == wire::kVersion;
  if (known) restore_slot(member, hello);
  const wire::Welcome answer{wire::kHelloMagic,
                             wire::Message::kWelcome,
                             known ? wire::Answer::kAccepted : wire::Answer::kVersionUnknown,
                             member.slot,
                             usage_.generation(member.slot),
                             static_cast<std::uint32_t>(member.process.id().pid)};
  const auto sent = member.connection->send(answer, policy_.fd(), usage_.fd());
  if (!sent) return dismiss(member.process.id().pid);
  member.is_told = known;
}

// A process that was registered with an arbiter whose files are lost gets the same slot again,
// where no other process uses it yet: its threads may still write into a slot of that number.
void TenantSession::restore_slot(Member& member, const wire::Hello& hello) {
  const bool was_new = std::exchange(member.is_new, false);
  if (!was_new || hello.slot == member.slot || hello.slot >= wire::kMaxProcesses) return;
  const auto other = std::ranges::find_if(
      members_, [&](const auto& entry) { return entry.second.slot == hello.slot; });
  const bool is_unused =
      other != members_.end() && other->second.is_new && usage_.release(other->second.process.id());
  const auto slot = usage_.move(member.process.id(), hello.slot);
  if (slot) member.slot = *slot;
  if (is_unused) {
    const auto next = usage_.take(other->second.process.id());
    if (next) other->second.slot = *next;
  }
  note_slots();
}

void TenantSession::dismiss(Key key) {
  const auto entry = members_.find(key);
  if (entry == members_.end()) return;
  Member& member = entry->second;
  ports_.poller.remove(member.process.fd());
  if (member.connection) ports_.poller.remove(member.connection->fd());
  settle(member);
  ++changes_;
  release(member.process.id());
  members_.erase(entry);
  note_slots();
  if (!usage_.somebody_may_hand_over()) give_up_usage();
}

}  // namespace tranche::arbiter
