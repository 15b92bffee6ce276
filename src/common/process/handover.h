#pragma once
// How a process hands what it holds to the next one of its kind on the machine: open descriptors,
// each with a name, over a unix socket in a folder that both have (SOCK_SEQPACKET, SCM_RIGHTS).
//
//     the next one           the one that serves
//     hello <who>      ->
//                      <-    wait, or other (it is of another <who>)
//                      <-    take <name> + descriptor, again and again; end
//     serving          ->
//                      <-    the connection's end: it has ended
//
// Only processes of the same user are listened to. Used by one thread each.

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

// The side of the one that serves.
class Handover {
 public:
  // Listens at `socket`, in the place of whoever did. `who`: successors of the same name are given
  // what is held. kIo, kInvalidArgument: the path is too long.
  static Result<std::unique_ptr<Handover>> listen(const std::filesystem::path& socket,
                                                  std::string who);

  // Readable when somebody connects.
  int fd() const { return socket_.get(); }
  // Greets who has connected. Waits a moment for its hello.
  void accept();
  // Whether a successor waits.
  bool has_successor();
  // Gives `held` to the successor that came last and lives. nullopt: there is none. Else the
  // connection to it.
  std::optional<Descriptor> give(const std::vector<NamedDescriptor>& held);

 private:
  Handover(Descriptor socket, std::string who) : socket_(std::move(socket)), who_(std::move(who)) {}

  Descriptor socket_;
  std::string who_;
  std::vector<Descriptor> waiting_;
};

// Waits until the successor serves. False: it has ended, or `timeout` is over.
bool wait_until_serving(const Descriptor& successor, std::chrono::milliseconds timeout);

// The side of the next one.
class Predecessor {
 public:
  enum class Greeting { kNone, kWait, kOther };

  // Connects, if somebody listens. Greeting::kOther: it hands nothing over to this process.
  // Greeting::kNone: nobody listens, or it has gone.
  Greeting greet(const std::filesystem::path& socket, const std::string& who);
  // Readable when something is handed over or the other has ended; below 0: not connected.
  int fd() const { return connection_.get(); }
  // Whether fd() is readable now.
  bool speaks() const;
  // What was handed over; nullopt: nothing, and the connection is closed.
  std::optional<std::vector<NamedDescriptor>> receive();
  // Tells that this process serves now.
  void tell_serving();
  void close() { connection_.close(); }

 private:
  Descriptor connection_;
};

}  // namespace tranche::process
