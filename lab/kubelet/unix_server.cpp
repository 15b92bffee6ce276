#include "lab/kubelet/unix_server.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <system_error>

namespace tranche::lab {

Result<std::unique_ptr<grpc::Server>> serve_unix(const std::filesystem::path& socket,
                                                 grpc::Service& service) {
  // sockaddr_un holds 108 bytes with the closing 0. gRPC would only say so on stderr.
  constexpr std::size_t kLongest = 107;
  if (socket.native().size() > kLongest)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: too long for a unix socket ({} bytes, at most {})",
                            socket.string(), socket.native().size(), kLongest),
                "use a kubelet root with a shorter path");
  std::error_code problem;
  std::filesystem::remove(socket, problem);
  if (problem) return std::unexpected(errno_error(problem.value(), "remove " + socket.string()));
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort("unix:" + socket.string(), grpc::InsecureServerCredentials(), &bound);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  if (!server)
    return fail(Code::kIo, fmt::format("cannot listen on {}", socket.string()),
                "the folder must be writable");
  return server;
}

void shut_down(grpc::Server& server) {
  server.Shutdown(std::chrono::system_clock::now());
  server.Wait();
}

}  // namespace tranche::lab
