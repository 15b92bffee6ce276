#include "arbiter/hook/start_gate.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/printable.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "host/process.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

bool is_root(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

}  // namespace

Result<std::unique_ptr<StartGate>> StartGate::open(const ExtensionContext& context) {
  ASSIGN_OR_RETURN(auto listener, tenant::Listener::open(context.tenants / kStartSocket, 0600));
  ASSIGN_OR_RETURN(auto thread, process::TaskThread::start(context.poller));
  std::unique_ptr<StartGate> gate(new StartGate(std::move(thread), std::move(listener), context));
  TRY(context.poller.add(gate->listener_.fd(), [g = gate.get()] { g->accept_all(); }));
  gate->remember(context.before);
  return gate;
}

StartGate::StartGate(std::unique_ptr<process::TaskThread> thread, tenant::Listener listener,
                     const ExtensionContext& context)
    : tenants_(context.tenants),
      host_(context.host),
      listener_(std::move(listener)),
      poller_(context.poller),
      clock_(context.clock),
      log_(context.log),
      extensions_(context.extensions),
      sessions_(context.sessions),
      thread_(std::move(thread)) {}

StartGate::~StartGate() {
  poller_.remove(listener_.fd());
  for (const auto& [fd, asker] : askers_) poller_.remove(fd);
  std::error_code ignored;  // the folder may already be removed
  std::filesystem::remove(tenants_ / kStartSocket, ignored);
}

void StartGate::accept_all() {
  while (true) {
    Descriptor peer(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.is_open()) return;
    // A rejected hook tries again.
    if (!is_root(peer.get()) || askers_.size() >= kMostAskers) continue;
    const int fd = peer.get();
    askers_.emplace(fd, Asker{.fd = std::move(peer), .since = clock_.now()});
    if (!poller_.add(fd, [this, fd] { receive(fd); })) askers_.erase(fd);
  }
}

void StartGate::receive(int fd) {
  std::array<char, kLargestStartPacket> buffer;
  const auto n = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto size = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  Asker& asker = askers_.at(fd);
  // It closed the connection, or its message was not one of ours.
  if (n <= 0 || size > buffer.size() || asker.notice) return drop(fd);
  take(fd, asker, {buffer.data(), size});
}

void StartGate::take(int fd, Asker& asker, std::string_view packet) {
  auto notice = decode_start_notice(packet);
  if (!notice) {
    log_.warn(fmt::format("a hook of the container runtime sent what is no notice: {}",
                          notice.error().message()));
    return answer(fd, {.may_start = false, .reason = notice.error().message()});
  }
  auto process = tenant::Process::find(notice->pid);
  if (!process) return answer(fd, {.may_start = false, .reason = process.error().message()});
  asker.notice = *std::move(notice);
  asker.process = *std::move(process);
  asker.noted = asker.notice->preload.empty();
  if (!asker.noted) note_preload(fd, asker);
  advance(fd);
}

void StartGate::note_preload(int fd, const Asker& asker) {
  thread_->post([this, fd, id = asker.process->id(), notice = *asker.notice,
                 host = host_]() -> process::TaskThread::Done {
    const auto facts = host::read_process(host, id.pid);
    // nullopt: it has ended.
    std::optional<std::string> cgroup;
    if (facts ? facts->start_time == id.start_time : facts.error().code != Code::kNotFound) {
      cgroup = facts ? facts->cgroup.value_or("") : "";
    }
    return [this, fd, id, notice, cgroup] { noted(fd, id, notice, cgroup); };
  });
}

void StartGate::noted(int fd, const tenant::ProcessId& id, const StartNotice& notice,
                      const std::optional<std::string>& cgroup) {
  if (cgroup && sights_.size() < kMostSights) {
    auto process = tenant::Process::open(id);
    Sight sight{.finding = {.kind = Finding::Kind::kImagePreload,
                            .tenant = notice.tenants.front(),
                            .pid = id.pid,
                            .start_time = id.start_time,
                            .name = "",
                            .cgroup = *cgroup,
                            .device = "",
                            .preload = notice.preload,
                            .since = clock_.wall_now()},
                .seen = clock_.now()};
    if (process) sight.process = std::make_unique<tenant::Process>(*std::move(process));
    sights_.insert_or_assign({id.pid, id.start_time}, std::move(sight));
  }
  // The asker may have disconnected since, and its descriptor may belong to another.
  const auto asker = askers_.find(fd);
  if (asker == askers_.end() || !asker->second.process || asker->second.process->id() != id) return;
  asker->second.noted = true;
  advance(fd);
}

// Why the container may not start yet; "": it may.
std::string StartGate::obstacle(const Asker& asker) {
  if (!asker.notice->waits) return {};
  const Sessions sessions = sessions_();
  std::string obstacle;
  for (const std::string& tenant : asker.notice->tenants) {
    const auto session = std::ranges::find(
        sessions, tenant, [](const TenantSession* one) { return one->limits().id; });
    if (session == sessions.end()) {
      obstacle = fmt::format("the arbiter knows no tenant {}", tenant);
    } else {
      // saw() is called for every tenant, so that the container's limit is the sum of all promises.
      extensions_.saw(**session, asker.process->id());
      const auto outcome = extensions_.outcome(**session, asker.process->id());
      const std::string why = outcome.value_or("the driver has not answered");
      if (!why.empty()) obstacle = why;
    }
  }
  return obstacle;
}

void StartGate::advance(int fd) {
  const auto entry = askers_.find(fd);
  if (entry == askers_.end()) return;
  Asker& asker = entry->second;
  const bool late = clock_.now() - asker.since >= kPatience;
  if (!asker.notice) {
    if (late) drop(fd);
    return;
  }
  if (!asker.noted) return;  // noted() will call this again
  const auto why = obstacle(asker);
  if (why.empty()) return answer(fd, {});
  if (!late) return;
  log_.error(fmt::format("a container of tenant {} does not start: {}",
                         fmt::join(asker.notice->tenants, ", "), why));
  answer(fd, {.may_start = false, .reason = why});
}

void StartGate::answer(int fd, const StartAnswer& answer) {
  const std::string packet = encode(answer);
  (void)!::send(fd, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  drop(fd);
}

void StartGate::drop(int fd) {
  poller_.remove(fd);
  askers_.erase(fd);
}

void StartGate::remember(const ArbiterStatus& before) {
  for (const Finding& finding : before.findings) {
    if (finding.kind != Finding::Kind::kImagePreload || sights_.size() >= kMostSights) continue;
    auto process = tenant::Process::open({finding.pid, finding.start_time});
    if (!process) continue;
    sights_.insert_or_assign(
        {finding.pid, finding.start_time},
        Sight{.finding = finding,
              .seen = clock_.now() - kStays,
              .process = std::make_unique<tenant::Process>(*std::move(process)),
              .told = true});
  }
}

void StartGate::look() {
  std::vector<int> waiting;
  for (const auto& [fd, asker] : askers_) waiting.push_back(fd);
  for (const int fd : waiting) advance(fd);
  const auto now = clock_.now();
  std::erase_if(sights_, [&](const auto& entry) {
    const Sight& sight = entry.second;
    return now - sight.seen >= kStays && (!sight.process || sight.process->has_ended());
  });
  for (auto& [key, sight] : sights_) {
    if (sight.told || now - sight.seen < kUnreported) continue;
    sight.told = true;
    log_.warn(fmt::format(
        "the image of a container of tenant {} ({}) has an /etc/ld.so.preload of its own, which "
        "the limiter's covers: not preloaded is {}; see docs/limits.md, \"The runtime's hook\"",
        sight.finding.tenant, printable(sight.finding.cgroup, kLongestPreload),
        sight.finding.preload));
  }
}

void StartGate::describe(ArbiterStatus& status) const {
  for (const auto& [key, sight] : sights_) {
    if (clock_.now() - sight.seen >= kUnreported) status.findings.push_back(sight.finding);
  }
}

}  // namespace tranche::arbiter
