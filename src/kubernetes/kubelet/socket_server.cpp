#include "kubelet/socket_server.h"

#include <absl/synchronization/mutex.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "base/file_identity.h"
#include "base/short_slice.h"

namespace tranche::kubelet {
namespace {

// A part of the socket's name while it is being bound.
constexpr std::string_view kBindSuffix = ".new";
constexpr std::string_view kHidden = ".";
constexpr int kThreads = 2;

class GrpcServer final : public SocketServer {
 public:
  GrpcServer(const Options& options, bool took_over)
      : socket_(options.socket), hidden_(options.watched_folder), took_over_(took_over) {}

  // The calls end before the queue, as gRPC wants it. The lock keeps the queue open for an event
  // that proceeds just now.
  ~GrpcServer() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    if (grpc_queue_ != nullptr) {
      const std::unique_lock no_event(events_);
      queue_.closed = true;
      grpc_queue_->Shutdown();
    }
    threads_.clear();  // each ends when the queue is empty
    if (intact()) ::unlink(socket_.c_str());
  }

  // Binds under another name and renames the socket. So the path always has a socket that answers.
  // At shutdown gRPC unlinks the path that it bound, so it cannot remove a successor's socket.
  // Without `replace` a socket that another process made meanwhile is left, and this fails.
  bool serve(std::initializer_list<grpc::Service*> services, const Listen& listen, bool replace) {
    const auto bound_path = first_path();
    // Debian builds the library with its search for deadlocks, a graph of all locks under one lock.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // A ping for each call, which measures the bandwidth: two more wake-ups, and a unix socket has
    // no long way.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Without filters for what kubelet does not use (compression, deadlines of the server's own).
    builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, 1);
    int bound = 0;
    builder.AddListeningPort("unix:" + bound_path, grpc::InsecureServerCredentials(), &bound);
    for (auto* service : services) builder.RegisterService(service);
    if (listen) grpc_queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || bound == 0) return false;
    if (listen) {
      queue_.grpc = grpc_queue_.get();
      listen(queue_);
      for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { run(); });
    }
    if (!move(bound_path, replace)) return false;
    file_ = identify(socket_);
    return file_.exists();
  }

  bool took_over() const override { return took_over_; }
  bool intact() const override { return file_.exists() && identify(socket_).same_inode(file_); }

  // gRPC shows no descriptors, so they are found among the process's by the address that the
  // server was bound to.
  std::vector<Descriptor> connections() const override {
    std::vector<Descriptor> found;
    std::error_code error;
    const auto bound_path = socket_.string() + std::string(kBindSuffix);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
      const int fd = std::atoi(entry.path().filename().c_str());
      if (is_client(fd, bound_path)) found.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    return found;
  }

 private:
  // Some file systems only support a plain rename.
  bool move(const std::string& from, bool replace) const {
    const unsigned flags = replace ? 0U : RENAME_NOREPLACE;
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, socket_.c_str(), flags) == 0) return true;
    return errno == EINVAL && ::rename(from.c_str(), socket_.c_str()) == 0;
  }

  static bool is_client(int fd, const std::string& bound_path) {
    sockaddr_un own{};
    sockaddr_un peer{};
    socklen_t own_size = sizeof(own);
    socklen_t peer_size = sizeof(peer);
    return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
           own_size > offsetof(sockaddr_un, sun_path) && own.sun_family == AF_UNIX &&
           bound_path == own.sun_path &&
           ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
  }

  void run() {
    ask_for_short_slices();
    void* tag = nullptr;
    bool ok = false;
    while (grpc_queue_->Next(&tag, &ok)) {
      const std::shared_lock event(events_);
      event_of(tag).proceed(ok);
    }
  }

  // Under which it is bound at first.
  std::string first_path() const {
    const auto name = socket_.filename().string() + std::string(kBindSuffix);
    return socket_.parent_path() / (hidden_ ? std::string(kHidden) + name : name);
  }

  std::filesystem::path socket_;
  bool hidden_;
  FileIdentity file_;
  bool took_over_;
  std::shared_mutex events_;  // held while an event proceeds
  std::unique_ptr<grpc::ServerCompletionQueue> grpc_queue_;
  Queue queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::jthread> threads_;
};

Result<sockaddr_un> address_of(const SocketServer::Options& options) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto text = options.socket.string();
  const std::size_t longest = sizeof(address.sun_path) - 1 - kBindSuffix.size() -
                              (options.watched_folder ? kHidden.size() : 0);
  if (text.size() > longest) {
    return fail(Code::kInvalidArgument,
                fmt::format("socket path {} is {} bytes long, at most {} are possible", text,
                            text.size(), longest),
                "use a shorter --kubelet-root");
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

// Whether a process accepts connections at `address`.
bool answers(const sockaddr_un& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // EAGAIN: a process listens and its backlog is full.
  const bool live = rc == 0 || errno == EAGAIN || errno == EINPROGRESS;
  ::close(fd);
  return live;
}

std::unexpected<Error> taken(const SocketServer::Options& options) {
  return fail(Code::kAlreadyExists,
              fmt::format("another {} answers on {}", options.kind, options.socket.string()),
              "remove it from this node, or start the agent with --take-over");
}

}  // namespace

bool socket_answers(const std::filesystem::path& socket) {
  const auto address = address_of({.socket = socket});
  return address && answers(*address);
}

Result<std::unique_ptr<SocketServer>> SocketServer::start(
    const Options& options, std::initializer_list<grpc::Service*> services, const Listen& listen,
    const Log& log) {
  ASSIGN_OR_RETURN(const auto address, address_of(options));
  const bool replace = options.take_over || options.handed_over;
  const bool other = !options.handed_over && answers(address);
  if (other && !options.take_over) return taken(options);
  if (other) {
    log.warn(fmt::format("taking {} over from the process that answers on it (--take-over)",
                         options.socket.string()));
  } else if (!options.handed_over) {
    ::unlink(options.socket.c_str());  // no process answers on it
  }
  auto server = std::make_unique<GrpcServer>(options, other);
  if (!server->serve(services, listen, replace)) {
    if (!replace && answers(address)) return taken(options);
    return fail(Code::kIo, fmt::format("cannot listen on {}", options.socket.string()),
                "check that the folder exists and is writable");
  }
  return server;
}

}  // namespace tranche::kubelet
