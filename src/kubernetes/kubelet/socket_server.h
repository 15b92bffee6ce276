#pragma once
// A gRPC server on a unix socket in one of kubelet's folders. It serves from its creation on. The
// destructor stops it, ends its calls and removes the socket. The server owns the socket's file. It
// replaces a socket on which no process answers. It takes a socket on which a process answers only
// if `take_over` is set. It notices when its own socket was replaced or deleted: kubelet deletes
// every socket that it finds when it starts.
//
// A call is answered by the thread that reads it, so it wakes one thread and no other. Two threads
// read, in turn: one that has just answered and is asked again at once has used up its part of a
// busy processor, and the other has not. Both ask the scheduler for short slices.
//
// The services (device plugin, DRA) use it, with kubelet/server_call.h. Of this room only
// these headers and the generated code are open to them.

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/result.h"

#ifdef __SANITIZE_THREAD__
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
    // Kubelet watches the folder, and asks every socket in it: the name under which the socket is
    // bound at first begins with a dot, which kubelet ignores.
    bool watched_folder = false;
    std::string kind;  // kind of server that may answer there, for messages: "device plugin"
  };

  // What waits for gRPC: for a call, or for a message to be sent. Its address is the tag in the
  // server's queue.
  class Event {
   public:
    // It has happened; or it will not happen, because the call or the server ends (`ok` is false).
    // Runs on one of the server's threads. May destroy the event.
    virtual void proceed(bool ok) = 0;

   protected:
    ~Event() = default;
  };

  // The tag with which something is begun. gRPC's library is not instrumented, so ThreadSanitizer
  // does not see that the queue hands an event from one thread to another: it is told here.
  static void* tag(Event* event) {
#ifdef __SANITIZE_THREAD__
    __tsan_release(event);
#endif
    return event;
  }
  // The event of a tag that the queue gave.
  static Event& event_of(void* tag) {
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(tag);
#endif
    return *static_cast<Event*>(tag);
  }

  // Where events come from.
  struct Queue {
    grpc::ServerCompletionQueue* grpc = nullptr;
    // The server ends. Events that waited still come, but nothing more may be begun: gRPC aborts
    // the process. It does not change while an event proceeds.
    bool closed = false;
  };

  // Asks for the first call of each method, with an Event as its tag. The queue outlives the
  // events. Empty: no method is asynchronous.
  using Listen = std::function<void(const Queue& queue)>;

  // `services` and the events must outlive the server. A method that is not asynchronous is run by
  // threads of gRPC's own. The destructor returns when no event waits any more. Errors:
  // kAlreadyExists, another process answers on the socket; kInvalidArgument, the path is too long
  // for a unix socket; kIo.
  static Result<std::unique_ptr<SocketServer>> start(const Options& options,
                                                     std::initializer_list<grpc::Service*> services,
                                                     const Listen& listen, const Log& log);
  virtual ~SocketServer() = default;

  // Whether another process answered on the socket when this server took it.
  virtual bool took_over() const = 0;
  // Whether the socket's file is still the one this server made.
  virtual bool intact() const = 0;
  // Copies of the descriptors of its clients' connections. A connection whose descriptor another
  // process holds does not end with this one.
  virtual std::vector<Descriptor> connections() const = 0;
};

// Whether a process accepts connections on the socket.
bool socket_answers(const std::filesystem::path& socket);

}  // namespace tranche::kubelet
