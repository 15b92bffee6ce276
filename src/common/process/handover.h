#pragma once
// How a process hands its open descriptors, each with a name, to its successor on the machine: over
// a unix socket in a folder that both have (SOCK_SEQPACKET, SCM_RIGHTS).
//
//     successor              serving process
//     hello <who>      ->
//                      <-    wait, or other (it serves another <who>)
//                      <-    take <name> + descriptor, repeated; end
//     serving          ->
//                      <-    connection closed: it has ended
//
// Only processes of the same user are accepted. Each side is used by one thread.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace tranche::process {

struct NamedDescriptor {
  std::string name;
  Descriptor descriptor;
};

// The serving process's side.
class Handover {
 public:
  // Listens at `socket`, replacing any previous listener. `who`: only successors of the same name
  // receive the descriptors. kIo, kInvalidArgument: the path is too long.
  static Result<std::unique_ptr<Handover>> listen(const std::filesystem::path& socket,
                                                  std::string who);

  // Readable when a process connects.
  int fd() const { return socket_.get(); }
  // Greets the process that connected. Waits briefly for its hello.
  void accept();
  // Whether a successor is waiting.
  bool has_successor();
  // Gives `held` to the most recent live successor and returns the connection to it. nullopt: there
  // is none.
  std::optional<Descriptor> give(const std::vector<NamedDescriptor>& held);

 private:
  Handover(Descriptor socket, std::string who) : socket_(std::move(socket)), who_(std::move(who)) {}

  Descriptor socket_;
  std::string who_;
  std::vector<Descriptor> waiting_;
};

// Waits until the successor serves. False: it has ended, or `timeout` has passed.
bool wait_until_serving(const Descriptor& successor, std::chrono::milliseconds timeout);

// The successor's side.
class Predecessor {
 public:
  enum class Greeting { kNone, kWait, kOther };

  // Connects if a process is listening. Greeting::kOther: it hands nothing over to this process.
  // Greeting::kNone: none is listening, or it is gone.
  Greeting greet(const std::filesystem::path& socket, const std::string& who);
  // Readable when descriptors arrive or the other side has ended; below 0: not connected.
  int fd() const { return connection_.get(); }
  // Whether fd() is readable now.
  bool speaks() const;
  // The descriptors handed over; nullopt: none, and the connection is closed.
  std::optional<std::vector<NamedDescriptor>> receive();
  // Reports that this process serves now.
  void tell_serving();
  void close() { connection_.close(); }

 private:
  Descriptor connection_;
};

}  // namespace tranche::process
