#include "sim/mps/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fmt/format.h"
#include "sim/gpu/enumerate.h"

namespace tranche::sim::mps {
namespace {

constexpr const char* kPidFile = "nvidia-cuda-mps-control.pid";
constexpr int kLookEveryMs = 200;
constexpr std::uint32_t kNotPermitted = 800;  // a CUDA error

volatile std::sig_atomic_t asked_to_end = 0;

std::string pid_namespace_of(pid_t pid) {
  struct stat info = {};
  const std::string path = fmt::format("/proc/{}/ns/pid", pid);
  return ::stat(path.c_str(), &info) == 0 ? std::to_string(info.st_ino) : "0";
}

// The server's process: the same program under another name, with its two sockets.
[[noreturn]] void become_server(int socket, int log, const std::string& devices, bool echo) {
  // Not only by dup2: a descriptor that is already in its place would stay close-on-exec.
  const int daemon = ::fcntl(socket, F_DUPFD_CLOEXEC, kLogFd + 1);
  const int file = ::fcntl(log, F_DUPFD_CLOEXEC, kLogFd + 1);
  ::dup2(daemon, kDaemonFd);
  ::dup2(file, kLogFd);
  if (!devices.empty()) ::setenv("CUDA_VISIBLE_DEVICES", devices.c_str(), 1);
  if (echo) ::setenv(kEchoVariable, "1", 1);
  ::execl("/proc/self/exe", kServerName, nullptr);
  ::_exit(1);
}

}  // namespace

Daemon::Daemon(DaemonOptions options, std::shared_ptr<Simulation> sim, OwnedFd lock, Log log)
    : options_(std::move(options)),
      sim_(std::move(sim)),
      lock_(std::move(lock)),
      log_(std::move(log)),
      folder_(mps_pipe_folder()),
      devices_(enumerate_devices(sim_->state())),
      defaults_(mps_limits_from_environment()),
      partitions_(sim_->state(), options_.protocol) {}

Result<void> Daemon::open() {
  struct sigaction end = {};
  end.sa_handler = [](int) { asked_to_end = 1; };
  ::sigaction(SIGTERM, &end, nullptr);
  ::sigaction(SIGINT, &end, nullptr);
  TRY(listen(folder_, {}));
  for (const NamedServer& server : options_.servers) {
    const std::string own = fmt::format("{}/{}", folder_, server.name);
    for (const auto& folder : {own, own + "/default"}) {
      TRY(listen(folder,
                 {.socket = {}, .server = server.name, .space = {}, .limits = {}, .memory = {}}));
    }
    for (const auto& [name, space] : server.namespaces) {
      TRY(listen(fmt::format("{}/{}", own, name), {.socket = {},
                                                   .server = server.name,
                                                   .space = name,
                                                   .limits = space.limits,
                                                   .memory = space.memory}));
    }
  }
  std::ofstream(fmt::format("{}/{}", folder_, kPidFile)) << ::getpid() << '\n';
  log_.line("Control",
            fmt::format("Starting control daemon using socket {}/{}", folder_, kMpsControlSocket));
  log_.line("Control", fmt::format("To connect CUDA applications to this daemon, set env "
                                   "CUDA_MPS_PIPE_DIRECTORY={}",
                                   folder_));
  log_.line("Control",
            fmt::format("CUDA MPS Control binary version: {}", sim_->state().cuda_version));
  for (const NamedServer& server : options_.servers) {
    start_server(server.uid.value_or(::getuid()), &server);
  }
  return {};
}

Result<void> Daemon::listen(const std::string& folder, Listener listener) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(Code::kIo, fmt::format("make {}: {}", folder, error.message()));
  ASSIGN_OR_RETURN(listener.socket, listen_mps(folder));
  listeners_.push_back(std::move(listener));
  return {};
}

void Daemon::run() {
  while (asked_to_end == 0 && !(quits_ && servers_.empty())) turn();
  log_.line("Control", "Exit");
  std::error_code ignored;
  ::unlink(fmt::format("{}/{}", folder_, kMpsControlSocket).c_str());
  std::filesystem::remove(fmt::format("{}/{}", folder_, kPidFile), ignored);
  for (const NamedServer& server : options_.servers) {
    std::filesystem::remove_all(fmt::format("{}/{}", folder_, server.name), ignored);
  }
  // When a caller learns that it quit, the folder is free.
  lock_.close();
  for (const Peer& peer : peers_) {
    if (peer.wants_quit) send_packet(peer.connection.get(), "0 ");
  }
}

void Daemon::turn() {
  std::vector<pollfd> ready;
  const auto watch = [&](const OwnedFd& fd) {
    ready.push_back({.fd = fd.get(), .events = POLLIN, .revents = 0});
  };
  for (const Listener& one : listeners_) watch(one.socket);
  for (const Peer& one : peers_) watch(one.connection);
  for (const ServerRecord& one : servers_) watch(one.socket);
  const std::size_t listeners = listeners_.size();
  const std::size_t peers = peers_.size();
  const std::size_t servers = servers_.size();
  if (::poll(ready.data(), ready.size(), kLookEveryMs) < 0) return;
  // New ones come after those that were watched.
  auto at = ready.begin();
  auto listener = listeners_.begin();
  for (std::size_t i = 0; i < listeners; ++i, ++at, ++listener) {
    if (at->revents != 0) accept_peer(*listener);
  }
  auto peer = peers_.begin();
  for (std::size_t i = 0; i < peers; ++i, ++at) {
    const bool stays = at->revents == 0 || receive_from_peer(*peer);
    peer = stays ? std::next(peer) : peers_.erase(peer);
  }
  auto server = servers_.begin();
  for (std::size_t i = 0; i < servers; ++i, ++at, ++server) {
    if (at->revents != 0) receive_from_server(*server);
  }
  if (deadline_ && std::chrono::steady_clock::now() >= *deadline_) {
    for (ServerRecord& one : servers_) force(one);
    deadline_.reset();
  }
  std::erase_if(servers_, [](const ServerRecord& one) { return one.pid == 0; });
  place_clients();
  std::erase_if(peers_, [](const Peer& one) { return !one.connection.is_open(); });
}

void Daemon::accept_peer(const Listener& listener) {
  OwnedFd connection(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.is_open()) return;
  log_.line("Control", "Accepting connection...");
  ucred who = {};
  socklen_t length = sizeof who;
  // As this process's namespaces see it; 0 when they do not.
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return;
  Peer peer;
  peer.connection = std::move(connection);
  peer.pid = who.pid;
  peer.uid = who.uid;
  peer.server = listener.server;
  peer.space = listener.space;
  peer.limits = on_every_device(listener.limits, listener.memory);
  peers_.push_back(std::move(peer));
}

// False: it is gone.
bool Daemon::receive_from_peer(Peer& peer) {
  const Packet packet = receive_packet(peer.connection.get());
  if (packet.kind != Packet::Kind::kText) {
    if (peer.is_user) log_.line("Control", "UI closed");
    return false;
  }
  const auto words = split_words(packet.text);
  if (peer.is_user) {
    log_.line("Control", fmt::format("Cmd:{}", packet.text));
    const auto answer = obey(peer, words);
    if (!answer) return true;
    return send_packet(peer.connection.get(),
                       fmt::format("{} {}", answer->ok ? 0 : 1, answer->text));
  }
  if (words == std::vector<std::string>{"ui"}) {
    log_.line("Control", "NEW UI");
    peer.is_user = true;
    return true;
  }
  if (words.size() != 6 || words[0] != "client" || peer.is_client) {
    log_.line("Control", "User did not send valid credentials");
    send_packet(peer.connection.get(), fmt::format("refuse {}", kMpsConnectionFailed));
    return false;
  }
  struct stat state = {};
  const bool is_of_machine = ::stat(sim_->path().c_str(), &state) == 0 &&
                             words[3] == std::to_string(state.st_dev) &&
                             words[4] == std::to_string(state.st_ino);
  if (!is_of_machine) {
    send_packet(peer.connection.get(), "stranger");
    return false;
  }
  peer.is_client = true;
  peer.slot = fmt::format("{} {}", words[1], words[2]);
  peer.partition = words[5];
  const ServerRecord* const server = server_for(peer);
  log_.line("Control", fmt::format("NEW CLIENT {} from user {}: {}", peer.pid, peer.uid,
                                   server != nullptr && server->is_ready
                                       ? "Server already exists"
                                       : "Server is not ready, push client to pending list"));
  return true;
}

void Daemon::receive_from_server(ServerRecord& server) {
  const Packet packet = receive_packet(server.socket.get(), true);
  if (packet.kind == Packet::Kind::kText) take_message(server, packet.text);
  if (packet.kind == Packet::Kind::kEnd) bury(server);
}

void Daemon::take_message(ServerRecord& server, const std::string& text) {
  const auto words = split_words(text);
  if (words.empty()) return;
  if (words[0] == "ready") {
    server.is_ready = true;
    log_.line("Control", fmt::format("NEW SERVER {}: Ready", server.pid));
    for (Peer& peer : peers_) {
      if (peer.wants_server != server.pid) continue;
      peer.wants_server = 0;
      send_packet(peer.connection.get(), "0 ");
    }
  } else if (words[0] == "failed") {
    log_.line("Control",
              fmt::format("Server {}: {}", server.pid, text.substr(words[0].size() + 1)));
  } else if (words[0] == "clients" && words.size() == 2) {
    server.clients = static_cast<unsigned>(std::strtoul(words[1].c_str(), nullptr, 10));
  }
}

void Daemon::bury(ServerRecord& server) {
  int status = 0;
  ::waitpid(server.pid, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  log_.line("Control", fmt::format("Server {} exited with status {}", server.pid, code));
  for (Peer& peer : peers_) {
    if (peer.wants_server == server.pid) {
      peer.wants_server = 0;
      send_packet(peer.connection.get(),
                  fmt::format("1 Server {} exited with status {}\n", server.pid, code));
    }
    // It was never ready: those who waited for it would wait for ever.
    if (peer.is_client && !server.is_ready && server_for(peer) == &server) {
      turn_away(peer, kMpsConnectionFailed);
    }
  }
  server.pid = 0;
  server.socket.close();
}

void Daemon::place_clients() {
  for (Peer& peer : peers_) {
    if (!peer.is_client || !peer.connection.is_open()) continue;
    place(peer);
    // One after the other, or a later one would end a server before the first has got it.
    if (peer.connection.is_open() && options_.protocol == 2) return;
  }
}

// It keeps waiting, for its server to be ready or for another user's to end, or its connection is
// handed over.
void Daemon::place(Peer& client) {
  if (quits_) return turn_away(client, kMpsServerNotReady);
  const NamedServer* const named_one = config_for(client);
  const bool is_owner = named_one == nullptr || client.uid == named_one->uid.value_or(::getuid()) ||
                        options_.multiuser;
  if (!is_owner) return turn_away(client, kNotPermitted);
  if (ServerRecord* const server = server_for(client)) {
    if (server->is_ready) hand_over(client, *server);
    return;
  }
  if (options_.protocol == 2 && !servers_.empty()) {
    for (ServerRecord& server : servers_) drain(server);
    return;
  }
  const NamedServer* const config = config_for(client);
  if (start_server(client.uid, config) == nullptr) turn_away(client, kMpsConnectionFailed);
}

void Daemon::hand_over(Peer& client, ServerRecord& server) {
  // A namespace inherits nothing from its server, and is not bounded by the server's limits.
  const std::string text =
      fmt::format("client {} {} {} {} {} {} {}", client.slot, client.pid, client.uid,
                  pid_namespace_of(client.pid), client.space.empty() ? "server" : "own",
                  partitions_of(client), encode(client.limits));
  server.clients += 1;
  if (!send_packet(server.socket.get(), text, client.connection.get())) {
    turn_away(client, kMpsConnectionFailed);
  }
  client.connection.close();
}

void Daemon::turn_away(Peer& client, std::uint32_t error) {
  send_packet(client.connection.get(), fmt::format("refuse {}", error));
  client.connection.close();
}

Daemon::ServerRecord* Daemon::start_server(uid_t uid, const NamedServer* config) {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return nullptr;
  OwnedFd own(ends[0]);
  const OwnedFd other(ends[1]);
  const OwnedFd log(::open(fmt::format("{}/server.log", log_folder()).c_str(),
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  // A server that says nothing must not hold up everybody.
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const pid_t pid = ::fork();
  if (pid < 0) return nullptr;
  const std::string devices = config == nullptr ? std::string() : config->devices;
  if (pid == 0) become_server(other.get(), log.get(), devices, options_.foreground);
  log_.line("Control", fmt::format("Starting new server {} for user {}", pid, uid));
  const MpsLimits limits =
      config == nullptr ? defaults_
                        : on_every_device(config->limits, config->memory).lowered_by(defaults_);
  send_packet(own.get(), fmt::format("start {} {}", uid, encode(limits)));
  ServerRecord record;
  record.pid = pid;
  record.socket = std::move(own);
  record.uid = uid;
  record.name = config == nullptr ? std::string() : config->name;
  servers_.push_back(std::move(record));
  return &servers_.back();
}

void Daemon::drain(ServerRecord& server) {
  if (server.drains) return;
  server.drains = true;
  send_packet(server.socket.get(), "drain");
}

void Daemon::force(ServerRecord& server) {
  server.drains = true;
  send_packet(server.socket.get(), "shutdown");
}

Daemon::ServerRecord* Daemon::server_for(const Peer& client) {
  const NamedServer* const config = config_for(client);
  const auto serves = [&](const ServerRecord& server) {
    if (server.pid == 0 || server.drains) return false;
    if (config != nullptr) return server.name == config->name;
    return server.name.empty() && (options_.multiuser || server.uid == client.uid);
  };
  const auto found = std::ranges::find_if(servers_, serves);
  return found == servers_.end() ? nullptr : &*found;
}

const NamedServer* Daemon::config_for(const Peer& client) const {
  const auto found = std::ranges::find_if(options_.servers, [&](const NamedServer& server) {
    return client.server.empty() ? server.uid == client.uid : server.name == client.server;
  });
  return found == options_.servers.end() ? nullptr : &*found;
}

Daemon::ServerRecord* Daemon::find_server(const std::string& pid) {
  const auto found = std::ranges::find_if(servers_, [&](const ServerRecord& server) {
    return server.pid != 0 && std::to_string(server.pid) == pid;
  });
  return found == servers_.end() ? nullptr : &*found;
}

MpsLimits Daemon::on_every_device(MpsLimits limits, std::optional<std::uint64_t> memory) const {
  for (std::uint32_t i = 0; memory && i < devices_.size(); ++i) limits.memory[i] = *memory;
  return limits;
}

}  // namespace tranche::sim::mps
