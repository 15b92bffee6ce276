#include "http/server.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/controller_service.h"
#include "http/connections.h"
#include "http/libevent.h"
#include "http/listener.h"
#include "http/tls_context.h"

namespace tranche::http {
namespace {

// Between two looks for connections that have had their time.
constexpr timeval kSweep{.tv_sec = 0, .tv_usec = 250'000};
// libevent closes a connection that is idle for 50 s unless configured otherwise. Ours are closed
// by the sweep; this is for a response that is never read.
constexpr int kStandstillSeconds = 600;
constexpr ev_ssize_t kMaxHeaderBytes = 16 << 10;

// A request is at most that long, and as much again may be sent ahead while its answer is on its
// way.
Connections::Limits limits_of(const Server::Options& options) {
  return {.count = options.max_connections,
          .bytes_of_one = 2 * (options.max_body_bytes + kMaxHeaderBytes),
          .bytes = options.max_bytes_under_way,
          .unread = options.max_unread_bytes,
          .request_time = options.request_time,
          .idle_time = options.idle_time};
}

std::string path_of(evhttp_request* request) {
  const auto* uri = evhttp_request_get_evhttp_uri(request);
  const char* path = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  return path == nullptr ? "" : path;
}

std::string body_of(evhttp_request* request) {
  auto* buffer = evhttp_request_get_input_buffer(request);
  std::string body(evbuffer_get_length(buffer), '\0');
  evbuffer_remove(buffer, body.data(), body.size());
  return body;
}

std::string method_of(evhttp_request* request) {
  return evhttp_request_get_command(request) == EVHTTP_REQ_POST ? "POST" : "GET";
}

std::string header_of(evhttp_request* request, const char* name) {
  const char* value = evhttp_find_header(evhttp_request_get_input_headers(request), name);
  return value == nullptr ? "" : value;
}

std::string peer_of(evhttp_request* request) {
  auto* connection = evhttp_request_get_connection(request);
  if (connection == nullptr) return {};  // it has gone
  char* address = nullptr;
  ev_uint16_t port = 0;
  evhttp_connection_get_peer(connection, &address, &port);
  return address == nullptr ? "" : address;
}

Request request_of(evhttp_request* request) {
  return {.method = method_of(request),
          .path = path_of(request),
          .body = body_of(request),
          .accept = header_of(request, "Accept"),
          .accept_encoding = header_of(request, "Accept-Encoding"),
          .authorization = header_of(request, "Authorization"),
          .token = header_of(request, kProxiedTokenHeader),
          .if_none_match = header_of(request, "If-None-Match"),
          .peer = peer_of(request)};
}

void reply(evhttp_request* request, const Response& response) {
  auto* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", response.content_type.c_str());
  if (!response.content_encoding.empty()) {
    evhttp_add_header(headers, "Content-Encoding", response.content_encoding.c_str());
  }
  for (const auto& [name, value] : response.headers) {
    evhttp_add_header(headers, name.c_str(), value.c_str());
  }
  auto* buffer = evhttp_request_get_output_buffer(request);
  evbuffer_add(buffer, response.body.data(), response.body.size());
  evhttp_send_reply(request, response.status, nullptr, nullptr);
}

}  // namespace

// The loop's thread owns all of libevent's and OpenSSL's objects; others post tasks to it.
class Server::Impl {
 public:
  Impl(Options options, Handler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}
  ~Impl();

  Result<void> start();
  Result<void> set_certificate(const Certificate& certificate);
  std::uint16_t port() const { return port_; }

 private:
  struct Job {
    evhttp_request* handle = nullptr;
    Request request;
  };

  Result<void> make_server(Descriptor socket);
  void add_events();
  void run();
  void work(const std::stop_token& stop);
  void post(std::function<void()> task);
  void run_tasks();
  void sweep();
  bufferevent* accept();
  bufferevent* make_stream();
  void take(evhttp_request* request);
  void answer(evhttp_request* request, const Response& response);

  const Options options_;
  const Handler handler_;
  std::uint16_t port_ = 0;
  Descriptor wake_;

  std::mutex mutex_;
  std::condition_variable_any asked_;
  // Guarded by mutex_.
  std::vector<std::function<void()>> tasks_;
  std::deque<Job> jobs_;

  // Only used on the loop's thread. The order matters: connections end before what they refer to.
  std::set<evhttp_request*> open_;  // a handler has them, or will
  TlsContext context_;              // null without TLS
  EventBase base_;
  std::optional<Connections> connections_;
  evconnlistener* listener_ = nullptr;  // http_'s
  Event woken_;
  Event sweep_;
  HttpServer http_;

  std::vector<std::jthread> handlers_;
  std::jthread loop_;
};

Server::Impl::~Impl() {
  for (auto& thread : handlers_) thread.request_stop();
  handlers_.clear();
  if (loop_.joinable()) {
    post([this] { event_base_loopbreak(base_.get()); });
    loop_.join();
  }
  // Their connections may be gone, and then nothing else frees them.
  for (auto* request : std::exchange(open_, {})) reply(request, {.status = 503, .body = "ending"});
  // Before what they use: the loop runs once more.
  woken_.reset();
  sweep_.reset();
  if (connections_) connections_->adopt();
  http_.reset();
  // What libevent frees later, it frees now: streams refer to this.
  if (base_) event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  connections_.reset();
  base_.reset();
}

Result<void> Server::Impl::start() {
  if (options_.tls) {
    ASSIGN_OR_RETURN(context_, tls_context({}));
  }
  ASSIGN_OR_RETURN(auto listener, listen_on(options_.address, options_.port));
  port_ = listener.port;
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.is_open()) return std::unexpected(errno_error(errno, "eventfd"));
  TRY(make_server(std::move(listener.socket)));
  for (unsigned i = 0; i < options_.handlers; ++i) {
    handlers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
  loop_ = std::jthread([this] { run(); });
  return {};
}

Result<void> Server::Impl::make_server(Descriptor socket) {
  base_.reset(event_base_new());
  if (!base_) return fail(Code::kInternal, "libevent has no loop");
  connections_.emplace(base_.get(), limits_of(options_));
  http_.reset(evhttp_new(base_.get()));
  listener_ = evconnlistener_new(base_.get(), nullptr, nullptr,
                                 LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, socket.get());
  if (!http_ || listener_ == nullptr) return fail(Code::kInternal, "libevent has no server");
  socket.release();
  evhttp_bind_listener(http_.get(), listener_);
  // The process has no descriptor left, and the loop would ask again and again until it has: the
  // next sweep asks.
  evconnlistener_set_error_cb(
      listener_, [](evconnlistener* listener, void*) { evconnlistener_disable(listener); });
  evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_POST);
  evhttp_set_max_headers_size(http_.get(), kMaxHeaderBytes);
  evhttp_set_max_body_size(http_.get(), static_cast<ev_ssize_t>(options_.max_body_bytes));
  evhttp_set_timeout(http_.get(), kStandstillSeconds);
  evhttp_set_bevcb(
      http_.get(), [](event_base*, void* self) { return static_cast<Impl*>(self)->accept(); },
      this);
  evhttp_set_gencb(
      http_.get(),
      [](evhttp_request* request, void* self) { static_cast<Impl*>(self)->take(request); }, this);
  add_events();
  return {};
}

void Server::Impl::add_events() {
  woken_.reset(event_new(
      base_.get(), wake_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->run_tasks(); }, this));
  sweep_.reset(event_new(
      base_.get(), -1, EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->sweep(); }, this));
  event_add(woken_.get(), nullptr);
  event_add(sweep_.get(), &kSweep);
}

void Server::Impl::run() {
  // A peer that has gone is an error of write(), not a signal that ends the process.
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  event_base_dispatch(base_.get());
}

void Server::Impl::post(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));
}

void Server::Impl::run_tasks() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(wake_.get(), &count, sizeof(count));
  std::vector<std::function<void()>> tasks;
  {
    const std::scoped_lock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

Result<void> Server::Impl::set_certificate(const Certificate& certificate) {
  if (!options_.tls) return fail(Code::kFailedPrecondition, "the server speaks no TLS");
  ASSIGN_OR_RETURN(auto context, tls_context(certificate));
  auto shared = std::make_shared<TlsContext>(std::move(context));
  post([this, shared] { context_ = std::move(*shared); });
  return {};
}

// libevent would serve plain HTTP on a connection for which this gave nothing.
bufferevent* Server::Impl::accept() {
  bufferevent* stream = make_stream();
  if (stream == nullptr) std::abort();  // out of memory
  connections_->add(stream);
  return stream;
}

bufferevent* Server::Impl::make_stream() {
  if (!options_.tls) return bufferevent_socket_new(base_.get(), -1, BEV_OPT_CLOSE_ON_FREE);
  SSL* ssl = SSL_new(context_.get());
  if (ssl == nullptr) return nullptr;
  auto* stream = bufferevent_openssl_socket_new(base_.get(), -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                                BEV_OPT_CLOSE_ON_FREE);
  if (stream != nullptr) bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
  return stream;
}

void Server::Impl::sweep() {
  connections_->sweep();
  evconnlistener_enable(listener_);
}

void Server::Impl::take(evhttp_request* request) {
  connections_->taken(request);
  open_.insert(request);
  Job job{.handle = request, .request = request_of(request)};
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  asked_.notify_one();
}

void Server::Impl::work(const std::stop_token& stop) {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      if (!asked_.wait(lock, stop, [this] { return !jobs_.empty(); })) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    post([this, handle = job.handle, response = handler_(job.request, stop)] {
      answer(handle, response);
    });
    if (stop.stop_requested()) return;
  }
}

void Server::Impl::answer(evhttp_request* request, const Response& response) {
  if (open_.erase(request) == 0) return;
  connections_->answered(request);
  reply(request, response);
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(Options options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  TRY(impl->start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Result<void> Server::set_certificate(const Certificate& certificate) {
  return impl_->set_certificate(certificate);
}

std::uint16_t Server::port() const { return impl_->port(); }

}  // namespace tranche::http
