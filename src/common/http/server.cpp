#include "http/server.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "http/listener.h"
#include "http/openssl.h"
#include "http/openssl_library.h"

namespace tranche::http {
namespace {

using Time = std::chrono::steady_clock::time_point;

// Between two looks for connections that have had their time.
constexpr timeval kSweep{.tv_sec = 0, .tv_usec = 250'000};
// libevent closes a connection that is idle for 50 s unless configured otherwise. Ours are closed
// by the sweep; this is for a response that is never read.
constexpr int kStandstillSeconds = 600;
constexpr ev_ssize_t kMaxHeaderBytes = 16 << 10;

using EventBase = std::unique_ptr<event_base, Freer<event_base_free>>;
using Event = std::unique_ptr<event, Freer<event_free>>;
using HttpServer = std::unique_ptr<evhttp, Freer<evhttp_free>>;

Result<TlsContext> context_of(const Certificate& certificate) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return std::unexpected(openssl_error(Code::kInternal, "TLS"));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A client that comes back makes a new handshake: sessions and tickets would be memory of ours.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  if (certificate == Certificate{}) return context;
  ASSIGN_OR_RETURN(const auto key, read_key(certificate.key));
  ASSIGN_OR_RETURN(const auto chain, read_certificates(certificate.chain));
  bool good = SSL_CTX_use_certificate(context.get(), chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
              SSL_CTX_check_private_key(context.get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    good = good && SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  }
  if (good) return context;
  return std::unexpected(openssl_error(Code::kInvalidArgument, "certificate and key"));
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

void reply(evhttp_request* request, const Response& response) {
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                    response.content_type.c_str());
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
  // Lives as long as its SSL object.
  struct Connection {
    Impl* server = nullptr;
    bufferevent* stream = nullptr;
    std::size_t bytes = 0;   // of the request that is arriving
    bool is_idle = false;    // waits for its next request
    bool is_served = false;  // a handler has its request
    Time since;              // it is idle, or its request began
  };

  Result<void> make_server(Descriptor socket);
  void run();
  void work(const std::stop_token& stop);
  void post(std::function<void()> task);
  void run_tasks();
  void sweep();
  bufferevent* accept();
  void make_room();
  void arrived(Connection& connection, std::size_t bytes);
  static void end(const Connection& connection);
  void take(evhttp_request* request);
  void answer(evhttp_request* request, const Response& response);
  Connection* connection_of(evhttp_request* request);
  static int connection_index();
  static void forget(void* parent, void* value, CRYPTO_EX_DATA*, int, long, void*);

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
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  std::set<evhttp_request*> open_;  // a handler has them, or will
  std::size_t bytes_ = 0;           // of all requests that are arriving
  TlsContext context_;
  EventBase base_;
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
  http_.reset();
  // What libevent frees later, it frees now: connections refer to this.
  if (base_) event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  woken_.reset();
  sweep_.reset();
  base_.reset();
}

Result<void> Server::Impl::start() {
  ASSIGN_OR_RETURN(context_, context_of({}));
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
  http_.reset(evhttp_new(base_.get()));
  auto* listener =
      evconnlistener_new(base_.get(), nullptr, nullptr,
                         LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, socket.get());
  if (!http_ || listener == nullptr) return fail(Code::kInternal, "libevent has no server");
  socket.release();
  evhttp_bind_listener(http_.get(), listener);
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
  woken_.reset(event_new(
      base_.get(), wake_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->run_tasks(); }, this));
  sweep_.reset(event_new(
      base_.get(), -1, EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Impl*>(self)->sweep(); }, this));
  event_add(woken_.get(), nullptr);
  event_add(sweep_.get(), &kSweep);
  return {};
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
  ASSIGN_OR_RETURN(auto context, context_of(certificate));
  auto shared = std::make_shared<TlsContext>(std::move(context));
  post([this, shared] { context_ = std::move(*shared); });
  return {};
}

int Server::Impl::connection_index() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &Impl::forget);
  return kIndex;
}

void Server::Impl::forget(void* /*parent*/, void* value, CRYPTO_EX_DATA* /*data*/, int /*index*/,
                          long /*argument*/, void* /*pointer*/) {
  if (value == nullptr) return;
  auto* connection = static_cast<Connection*>(value);
  auto& server = *connection->server;
  server.bytes_ -= connection->bytes;
  server.connections_.erase(connection);
}

// libevent would serve plain HTTP on a connection for which this gave nothing.
bufferevent* Server::Impl::accept() {
  make_room();
  auto made = std::make_unique<Connection>(
      Connection{.server = this, .since = std::chrono::steady_clock::now()});
  auto* connection = made.get();
  SSL* ssl = SSL_new(context_.get());
  if (ssl == nullptr) std::abort();  // out of memory
  connections_.emplace(connection, std::move(made));
  SSL_set_ex_data(ssl, connection_index(), connection);
  connection->stream = bufferevent_openssl_socket_new(
      base_.get(), -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
  if (connection->stream == nullptr) std::abort();
  bufferevent_openssl_set_allow_dirty_shutdown(connection->stream, 1);
  evbuffer_add_cb(
      bufferevent_get_input(connection->stream),
      [](evbuffer*, const evbuffer_cb_info* info, void* value) {
        auto& one = *static_cast<Connection*>(value);
        if (info->n_added > 0) one.server->arrived(one, info->n_added);
      },
      connection);
  return connection->stream;
}

// The peer sees the end, and so does libevent, which then frees the connection. Safe anywhere.
void Server::Impl::end(const Connection& connection) {
  ::shutdown(bufferevent_getfd(connection.stream), SHUT_RDWR);
}

void Server::Impl::make_room() {
  if (connections_.size() < options_.max_connections) return;
  Connection* longest = nullptr;
  for (const auto& [one, owner] : connections_) {
    if (one->is_idle && (longest == nullptr || one->since < longest->since)) longest = one;
  }
  if (longest == nullptr) {
    for (const auto& [one, owner] : connections_) {
      if (!one->is_served && (longest == nullptr || one->since < longest->since)) longest = one;
    }
  }
  if (longest != nullptr) end(*longest);
}

void Server::Impl::arrived(Connection& connection, std::size_t bytes) {
  if (connection.is_served) return;  // the next request, sent early
  if (std::exchange(connection.is_idle, false)) connection.since = std::chrono::steady_clock::now();
  connection.bytes += bytes;
  bytes_ += bytes;
  if (bytes_ > options_.max_bytes_under_way) end(connection);
}

void Server::Impl::sweep() {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [one, owner] : connections_) {
    const auto time = one->is_idle ? options_.idle_time : options_.request_time;
    if (!one->is_served && now - one->since > time) end(*one);
  }
}

Server::Impl::Connection* Server::Impl::connection_of(evhttp_request* request) {
  auto* connection = evhttp_request_get_connection(request);
  auto* stream = connection == nullptr ? nullptr : evhttp_connection_get_bufferevent(connection);
  SSL* ssl = stream == nullptr ? nullptr : bufferevent_openssl_get_ssl(stream);
  if (ssl == nullptr) return nullptr;
  return static_cast<Connection*>(SSL_get_ex_data(ssl, connection_index()));
}

void Server::Impl::take(evhttp_request* request) {
  if (auto* connection = connection_of(request)) {
    bytes_ -= std::exchange(connection->bytes, 0);
    connection->is_served = true;
  }
  open_.insert(request);
  Job job{.handle = request,
          .request = {
              .method = method_of(request), .path = path_of(request), .body = body_of(request)}};
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
  if (auto* connection = connection_of(request)) {
    connection->is_served = false;
    connection->is_idle = true;
    connection->since = std::chrono::steady_clock::now();
  }
  reply(request, response);
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(Options options, Handler handler) {
  TRY(load_openssl());
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  TRY(impl->start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Result<void> Server::set_certificate(const Certificate& certificate) {
  return impl_->set_certificate(certificate);
}

std::uint16_t Server::port() const { return impl_->port(); }

}  // namespace tranche::http
