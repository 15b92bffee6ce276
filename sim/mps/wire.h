#pragma once
// The protocol between the simulated MPS control daemon, its servers and their clients
// (libcuda).
//
// NVIDIA's protocol is not public; this one is our own. Packets of text over SOCK_SEQPACKET,
// words separated by blanks:
//
// The control program to the daemon:
//   ui                            the connection is a user's
//   <command> ...                 answered by: 0 <text>, or 1 <text> (refused)
// A client to the daemon, D and I being the state file's device and inode:
//   client <slot> <holder> D I <CUDA_MPS_SM_PARTITION, or ->    answered, perhaps much later, by:
//     stranger                    the daemon is on another simulated machine, so there is none
//     refuse <CUDA error>
//     welcome <group> <permille> <priority> {<gpu>:<gi>:<ci>:<bytes>}    by its server
// Then the client to its server:
//   context <gpu>:<gi>:<ci>       answered by: done, or refuse <CUDA error>
//   destroy <gpu>:<gi>:<ci>       not answered
//   fault <gpu>:<gi>:<ci> <CUDA error>    not answered: all clients there end with that
// And the server to its client, unrequested:
//   error <CUDA error>            every call from now on fails with it
//
// The daemon hands a client's connection over to the server and keeps no copy, so that the
// client sees its server's end as the end of the connection, whatever caused it.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/gpu/uses.h"
#include "sim/state/owned_fd.h"

namespace tranche::sim {

// CUDA's errors about MPS.
inline constexpr std::uint32_t kMpsConnectionFailed = 805;
inline constexpr std::uint32_t kMpsRpcFailure = 806;
inline constexpr std::uint32_t kMpsServerNotReady = 807;
inline constexpr std::uint32_t kMpsMaxClientsReached = 808;
inline constexpr std::uint32_t kMpsClientTerminated = 810;

inline constexpr std::string_view kMpsControlSocket = "control";

// The limits of clients.
struct MpsLimits {
  std::uint32_t thread_permille = kFullRate;
  std::uint32_t priority = 0;                     // 0 normal, 1 below
  std::map<std::uint32_t, std::uint64_t> memory;  // bytes by device ordinal; absent: unlimited
  std::map<std::string, std::uint64_t> memory_by_uuid{};  // environments may use UUIDs

  // A client may lower its limits, not raise them.
  MpsLimits lowered_by(const MpsLimits& other) const;
};

// "25", "33.5": above 0 and up to 100.
std::optional<std::uint32_t> read_permille(std::string_view percent);
// "25.0".
std::string percent_text(std::uint32_t permille);
// "2158M", "2G": whole numbers.
std::optional<std::uint64_t> read_memory(std::string_view text);
std::string memory_text(std::uint64_t bytes);
// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT ("0=1G,1=512M") and
// CUDA_MPS_CLIENT_PRIORITY; invalid values are ignored.
MpsLimits mps_limits_from_environment();
// "permille priority 0=bytes,1=bytes", and back. nullopt: invalid.
std::string encode(const MpsLimits& limits);
std::optional<MpsLimits> decode_limits(std::string_view text);

// "gpu:gi:ci".
std::string encode(const UseTarget& target);
std::optional<UseTarget> decode_target(std::string_view text);
bool same_device(const UseTarget& a, const UseTarget& b);

std::vector<std::string> split_words(std::string_view text);

// CUDA_MPS_PIPE_DIRECTORY, else /tmp/nvidia-mps. Absolute.
std::string mps_pipe_folder();

// Connects to the socket `control` in `folder`. kNotFound: no answer there, or the path is longer
// than a socket's may be (107 bytes), like NVIDIA's daemon.
Result<OwnedFd> connect_mps(const std::string& folder);
// kIo if the path is too long or cannot be created. Everyone may connect.
Result<OwnedFd> listen_mps(const std::string& folder);

// False: the other side is gone. `pass`: a descriptor to send along, -1 for none.
bool send_packet(int fd, std::string_view text, int pass = -1);

struct Packet {
  enum class Kind { kText, kNothing, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;
  OwnedFd passed;
};
// Waits, unless `at_once` (then kNothing). kEnd: the other side is gone.
Packet receive_packet(int fd, bool at_once = false);

}  // namespace tranche::sim
