#pragma once
// A gRPC server on a unix socket in one of kubelet's folders. It serves from its creation on. The
// destructor stops it, ends its calls and removes the socket. The server owns the socket's file. It
// replaces a socket on which no process answers. It only takes a socket on which a process answers
// if `take_over` is set. It notices when its own socket was replaced or deleted: kubelet deletes
// every socket that it finds when it starts.
//
// A call is answered by the thread that reads it, so it wakes one thread and no other. Two threads
// read, in turn: one that has just answered and gets the next call at once has used up its share of
// a busy CPU, and the other has not. Both ask the scheduler for short slices.
//
// The services (device plugin, DRA) use it, with kubelet/server_call.h. In this room, only
// these headers and the generated code are accessible to them.

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/result.h"

#ifdef TRANCHE_THREAD_SANITIZED
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace grpc {
class ServerCompletionQueue;
class Service;
}  // namespace grpc

namespace tranche::kubelet {

class SocketServer {
 public:
  struct Options {
    std::filesystem::path socket;
    // Take the socket even when another process answers on it.
    bool take_over = false;
    // Take it from a process of ours that has handed it over.
    bool handed_over = false;
    // Kubelet watches the folder and queries every socket in it, so the socket is first bound under
    // a name that begins with a dot, which kubelet ignores.
    bool watched_folder = false;
    std::string kind;  // kind of server that may answer there, for messages: "device plugin"
  };

  // Something that waits for gRPC: for a call, or for a message to be sent. Its address is the tag
  // in the server's queue.
  class Event {
   public:
    // It has happened; or it will not happen, because the call or the server ends (`ok` is false).
    // Runs on one of the server's threads. May destroy the event.
    virtual void proceed(bool ok) = 0;

   protected:
    ~Event() = default;
  };

  // The tag with which an operation is started. gRPC's library is not instrumented, so
  // ThreadSanitizer does not see that the queue passes an event from one thread to another; this
  // annotation tells it.
  static void* tag(Event* event) {
#ifdef TRANCHE_THREAD_SANITIZED
    __tsan_release(event);
#endif
    return event;
  }
  // The event of a tag returned by the queue.
  static Event& event_of(void* tag) {
#ifdef TRANCHE_THREAD_SANITIZED
    __tsan_acquire(tag);
#endif
    return *static_cast<Event*>(tag);
  }

  // The source of events.
  struct Queue {
    grpc::ServerCompletionQueue* grpc = nullptr;
    // The server is ending. Pending events still arrive, but no new operation may be started: gRPC
    // would abort the process. It does not change while an event proceeds.
    bool closed = false;
  };

  // Requests the first call of each method, with an Event as its tag. The queue outlives the
  // events. Empty: no method is asynchronous.
  using Listen = std::function<void(const Queue& queue)>;

  // `services` and the events must outlive the server. A synchronous method runs on gRPC's own
  // threads. The destructor returns when no event is pending. Errors: kAlreadyExists, another
  // process answers on the socket; kInvalidArgument, the path is too long for a unix socket;
  // kIo.
  static Result<std::unique_ptr<SocketServer>> start(const Options& options,
                                                     std::initializer_list<grpc::Service*> services,
                                                     const Listen& listen, const Log& log);
  virtual ~SocketServer() = default;

  // Whether another process answered on the socket when this server took it.
  virtual bool took_over() const = 0;
  // Whether the socket's file is still the one created by this server.
  virtual bool intact() const = 0;
  // Copies of the descriptors of its clients' connections. A connection whose descriptor another
  // process holds does not end with this one.
  virtual std::vector<Descriptor> connections() const = 0;
};

// Whether a process accepts connections on the socket.
bool socket_answers(const std::filesystem::path& socket);

}  // namespace tranche::kubelet
