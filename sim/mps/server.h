#pragma once
// nvidia-cuda-mps-server: one process that holds the GPUs for its clients and counts them.
//
// The control daemon starts it (the same program under this name) and communicates with it over a
// private socket:
// The daemon to the server:
//   start <uid> <limits>          the first packet
//   client <slot> <holder> <pid> <uid> <pid namespace> <whose> <partitions> <limits>
//       with the client's connection. whose: `own`, the limits count alone; `server`, they lower
//       the server's. partitions: <gpu>:<permille>,... of GPUs with static SM partitions (0: the
//       client has none there), or -
//   ask <command ...>             answered at once
//   drain                         it ends when the last client has gone
//   shutdown                      it ends
// The server to the daemon:
//   ready, or failed <why>
//   answer <0|1> <text>
//   clients <count>               whenever that changes
// It ends with the daemon: its clients see their connections close.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/mps/answer.h"
#include "sim/mps/log.h"
#include "sim/mps/wire.h"

namespace tranche::sim::mps {

// The descriptor of the server's sockets when it is started.
inline constexpr int kDaemonFd = 3;
inline constexpr int kLogFd = 4;
inline constexpr const char* kServerName = "nvidia-cuda-mps-server";
// In the server's environment: its log is also written to standard output.
inline constexpr const char* kEchoVariable = "TRANCHE_SIM_MPS_ECHO";

class Server {
 public:
  Server();
  // Runs until it ends; returns the process's exit code.
  int run();

 private:
  struct Client {
    OwnedFd connection;
    ProcessSlot* slot = nullptr;
    std::uint64_t holder = 0;
    pid_t pid = 0;  // 0: in an invisible pid namespace
    uid_t uid = 0;
    std::string pid_namespace;  // inode; "0": unknown
    MpsLimits limits;
    std::map<std::uint32_t, std::uint32_t> partitions;  // permille by GPU that has partitions
    std::vector<UseTarget> contexts;
    bool is_faulty = false;  // a fatal fault has hit it; it has been notified
  };
  using ClientPtr = std::shared_ptr<Client>;

  Result<void> start();
  Result<void> hold(const UseTarget& device);
  void log_start() const;
  bool receive_from_daemon();
  void receive_from_client(const ClientPtr& client);
  void add_client(Packet packet);
  void drop_client(const ClientPtr& client);
  void add_context(const ClientPtr& client, const UseTarget& device);
  void spread_fault(const ClientPtr& from, const UseTarget& device, const std::string& error);
  void tell_count() const;
  std::string welcome(const Client& client) const;
  unsigned most_contexts(const UseTarget& device) const;

  Answer answer(const std::vector<std::string>& words);
  Answer list_clients() const;
  Answer list_device_clients() const;
  Answer list_processes() const;
  Answer set_percentage(const std::string& percent);
  Answer set_memory(const std::string& device, const std::string& amount);
  Answer memory_of(const std::string& device) const;
  Answer terminate(const std::string& pid);
  bool in_fault() const;

  OwnedFd daemon_{kDaemonFd};
  Log log_;
  std::shared_ptr<Simulation> sim_;
  ProcessSlot* slot_ = nullptr;
  uid_t uid_ = 0;
  std::uint32_t group_ = kNoGroup;
  MpsLimits limits_;
  std::vector<UseTarget> devices_;
  std::vector<ClientPtr> clients_;
  bool drains_ = false;
};

}  // namespace tranche::sim::mps
