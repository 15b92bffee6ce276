#pragma once
// The calls of a service on a SocketServer. A service includes it in its *_service.cpp only,
// because it includes gRPC.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <utility>

#include "kubelet/socket_server.h"

namespace tranche::kubelet {

// One of several things that an object waits for. The object must outlive it, or be destroyed by
// it.
template <class Owner>
class Step final : public SocketServer::Event {
 public:
  using Run = void (Owner::*)(bool ok);
  Step(Owner& owner, Run run) : owner_(owner), run_(run) {}
  void proceed(bool ok) override { (owner_.*run_)(ok); }

 private:
  Owner& owner_;
  Run run_;
};

// A method with one request and one response. It must outlive the server.
template <class Request, class Answer>
struct Method {
  // Asks for one call: the generated Request<Method>() of the service.
  std::function<void(grpc::ServerContext*, Request*, grpc::ServerAsyncResponseWriter<Answer>*,
                     grpc::ServerCompletionQueue*, void* tag)>
      ask;
  std::function<grpc::Status(const Request&, Answer&)> answer;
};

// One call of a method. It exists before the call arrives, and destroys itself when the call is
// over, when no more calls arrive, or when the server ends. Every arriving call requests the next
// one.
template <class Request, class Answer>
class UnaryCall final : public SocketServer::Event {
 public:
  static void ask(const Method<Request, Answer>& method, const SocketServer::Queue& queue) {
    auto* call = new UnaryCall(method, queue);  // owned by the queue until proceed()
    method.ask(&call->context_, &call->request_, &call->writer_, queue.grpc,
               SocketServer::tag(call));
  }

  void proceed(bool ok) override {
    if (!ok || answered_ || queue_.closed) {
      delete this;
      return;
    }
    answered_ = true;
    // Another thread may destroy this call as soon as it is finished.
    const auto& method = method_;
    const auto& queue = queue_;
    Answer answer;
    const auto status = method.answer(request_, answer);
    writer_.Finish(answer, status, SocketServer::tag(this));
    // Requested after the response, which the client is waiting for.
    ask(method, queue);
  }

 private:
  UnaryCall(const Method<Request, Answer>& method, const SocketServer::Queue& queue)
      : method_(method), queue_(queue) {}

  const Method<Request, Answer>& method_;
  const SocketServer::Queue& queue_;
  grpc::ServerContext context_;
  Request request_;
  grpc::ServerAsyncResponseWriter<Answer> writer_{&context_};
  bool answered_ = false;
};

}  // namespace tranche::kubelet
