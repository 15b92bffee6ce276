#pragma once
// The protocol of an MPS control daemon. NVIDIA has several protocols, which have different
// commands for the same things: start, ask, change, end. A Protocol knows one of them: the commands
// for NVIDIA's program, and the meaning of the answers. MpsDaemon (agent/mps) runs the commands and
// does not know which protocol it uses.
//
// Each protocol has its own folder and a line in mps/protocols.def. All are pure and stateless, and
// live as long as the process.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mps/daemon.h"
#include "mps/order.h"

namespace tranche::mps {

// The first release of NVIDIA's programs that has a protocol.
struct Since {
  int cuda_version = 0;       // 13040: CUDA 13.4; 0: all releases have it
  std::string_view driver{};  // "r615"
};

struct Question {
  Order order;
  // Judges from the answer whether all is well. `log`: the daemon's log folder, for the hint.
  Result<void> (*judge)(const std::string& answer, const std::filesystem::path& log);
};

// How to start a daemon with its limits, before it has any client.
struct Start {
  std::string configuration;  // to write to the file first; empty: no file
  std::vector<Order> orders;
  std::optional<Question> ready;  // asked until all is well; nullopt: not needed
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual int number() const = 0;
  virtual Since since() const = 0;
  // Whether limits belong to namespaces (Daemon::namespaces).
  virtual bool has_namespaces() const = 0;

  // `file`: the path where the configuration will be written.
  virtual Start start(const Daemon& daemon, const std::filesystem::path& file) const = 0;
  virtual Order quit() const = 0;
  // Asks whether the daemon lives and serves.
  virtual Question alive() const = 0;

  // Commands that turn one daemon into another that differs only in limits (mps/diff.h). They apply
  // to clients that start after them.
  virtual std::vector<Order> change(const Daemon& before, const Daemon& daemon) const = 0;
  // The answer to this order names the servers for change_servers(); nullopt: no server needs
  // commands.
  virtual std::optional<Order> servers_question() const = 0;
  virtual std::vector<Order> change_servers(const Daemon& before, const Daemon& daemon,
                                            const std::string& servers) const = 0;

  // Static SM partitions (mps/partitions.h). chunks_question() asks for the chunks of a daemon's
  // GPUs. chunks_of() extracts the total number of chunks of `uuid` from the answer; nullopt: not
  // found. add_partition() creates the partition of one tranche.
  virtual Order chunks_question() const = 0;
  virtual std::optional<int> chunks_of(const std::string& answer, std::string_view uuid) const = 0;
  virtual Order add_partition(const DaemonDevice& device, int replica, int chunks) const = 0;
};

// Each protocol is defined in the folder of its name.
#define PROTOCOL(name) const Protocol& name();
#include "mps/protocols.def"
#undef PROTOCOL

// In the order of the list.
std::span<const Protocol* const> protocols();
// The protocol with that number; the first of the list if there is none.
const Protocol& protocol_of(int number);

}  // namespace tranche::mps
