#include "sim/mps/wire.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "fmt/format.h"
#include "sim/machine/read_number.h"

namespace tranche::sim {
namespace {

constexpr std::size_t kMostBytes = 64U << 10U;  // of a packet
constexpr std::string_view kDefaultFolder = "/tmp/nvidia-mps";

std::string_view environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(at), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<sockaddr_un> address_of(const std::string& folder) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("{}/{}", folder, kMpsControlSocket);
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  path.copy(address.sun_path, path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT: what sockets take
}

}  // namespace

MpsLimits MpsLimits::lowered_by(const MpsLimits& other) const {
  MpsLimits both = *this;
  both.thread_permille = std::min(thread_permille, other.thread_permille);
  both.priority = std::max(priority, other.priority);
  for (const auto& [device, bytes] : other.memory) {
    const auto [own, is_new] = both.memory.try_emplace(device, bytes);
    if (!is_new) own->second = std::min(own->second, bytes);
  }
  return both;
}

std::optional<std::uint32_t> read_permille(std::string_view percent) {
  const auto value = read_number<double>(percent);
  if (!value || !(*value > 0) || *value > 100) return std::nullopt;
  return std::max(1U, static_cast<std::uint32_t>(std::lround(*value * 10)));
}

std::string percent_text(std::uint32_t permille) {
  return fmt::format("{}.{}", permille / 10, permille % 10);
}

std::optional<std::uint64_t> read_memory(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char unit = text.back();
  const auto amount = read_number<std::uint32_t>(text.substr(0, text.size() - 1));
  if (!amount || *amount == 0 || (unit != 'G' && unit != 'M')) return std::nullopt;
  return std::uint64_t{*amount} << (unit == 'G' ? 30U : 20U);
}

std::string memory_text(std::uint64_t bytes) {
  const std::uint64_t mib = bytes >> 20U;
  return mib % 1024 == 0 ? fmt::format("{}G", mib / 1024) : fmt::format("{}M", mib);
}

MpsLimits mps_limits_from_environment() {
  MpsLimits limits;
  limits.thread_permille =
      read_permille(environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")).value_or(kFullRate);
  limits.priority = environment("CUDA_MPS_CLIENT_PRIORITY") == "1" ? 1 : 0;
  for (const std::string& one : split(environment("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), ',')) {
    const auto equals = std::min(one.find('='), one.size());
    if (equals == one.size()) continue;
    const auto bytes = read_memory(std::string_view(one).substr(equals + 1));
    if (!bytes) continue;
    const std::string name = one.substr(0, equals);
    if (const auto device = read_number<std::uint32_t>(name)) {
      limits.memory[*device] = *bytes;
    } else {
      limits.memory_by_uuid[name] = *bytes;
    }
  }
  return limits;
}

std::string encode(const MpsLimits& limits) {
  std::string text = fmt::format("{} {} ", limits.thread_permille, limits.priority);
  for (const auto& [device, bytes] : limits.memory) text += fmt::format("{}={},", device, bytes);
  return text;
}

std::optional<MpsLimits> decode_limits(std::string_view text) {
  const auto words = split_words(text);
  if (words.size() < 2) return std::nullopt;
  const auto permille = read_number<std::uint32_t>(words[0]);
  const auto priority = read_number<std::uint32_t>(words[1]);
  if (!permille || !priority) return std::nullopt;
  MpsLimits limits = {.thread_permille = *permille, .priority = *priority, .memory = {}};
  if (words.size() == 2) return limits;
  for (const std::string& one : split(words[2], ',')) {
    const auto parts = split(one, '=');
    if (parts.size() != 2) return std::nullopt;
    const auto device = read_number<std::uint32_t>(parts[0]);
    const auto bytes = read_number<std::uint64_t>(parts[1]);
    if (!device || !bytes) return std::nullopt;
    limits.memory[*device] = *bytes;
  }
  return limits;
}

std::string encode(const UseTarget& target) {
  return fmt::format("{}:{}:{}", target.gpu, target.gpu_instance, target.compute_instance);
}

std::optional<UseTarget> decode_target(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  std::array<std::uint32_t, 3> numbers = {};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = read_number<std::uint32_t>(parts[i]);
    if (!number) return std::nullopt;
    numbers[i] = *number;
  }
  return UseTarget{.gpu = numbers[0], .gpu_instance = numbers[1], .compute_instance = numbers[2]};
}

bool same_device(const UseTarget& a, const UseTarget& b) {
  return a.gpu == b.gpu && a.gpu_instance == b.gpu_instance &&
         a.compute_instance == b.compute_instance;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos) return words;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(" \t\r\n"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string mps_pipe_folder() {
  const auto named = environment("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code error;
  const auto folder = std::filesystem::absolute(named.empty() ? kDefaultFolder : named, error);
  return error ? std::string(named) : folder.lexically_normal().string();
}

Result<OwnedFd> connect_mps(const std::string& folder) {
  const auto address = address_of(folder);
  OwnedFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, "socket"));
  if (!address || ::connect(fd.get(), generic(*address), sizeof *address) != 0) {
    return fail(Code::kNotFound, fmt::format("no MPS control daemon answers in {}", folder));
  }
  return fd;
}

Result<OwnedFd> listen_mps(const std::string& folder) {
  const auto address = address_of(folder);
  if (!address) {
    return fail(Code::kIo,
                fmt::format("{}/{}: longer than the path of a socket may be (107 bytes)", folder,
                            kMpsControlSocket),
                "name a shorter folder in CUDA_MPS_PIPE_DIRECTORY");
  }
  const std::string path = address->sun_path;
  OwnedFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // What a killed daemon left behind.
  ::unlink(path.c_str());
  if (!fd.is_open() || ::bind(fd.get(), generic(*address), sizeof *address) != 0 ||
      ::chmod(path.c_str(), 0777) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    return std::unexpected(errno_error(errno, "listen on " + path));
  }
  return fd;
}

bool send_packet(int fd, std::string_view text, int pass) {
  iovec part = {.iov_base = const_cast<char*>(text.data()),  // NOLINT: sendmsg only reads it
                .iov_len = text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (pass >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &pass, sizeof pass);
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

Packet receive_packet(int fd, bool at_once) {
  std::string text(at_once ? 256 : kMostBytes, '\0');
  iovec part = {.iov_base = text.data(), .iov_len = text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | (at_once ? MSG_DONTWAIT : 0));
  } while (got < 0 && errno == EINTR);
  Packet packet;
  if (got < 0 && errno == EAGAIN) packet.kind = Packet::Kind::kNothing;
  if (got <= 0) return packet;
  packet.kind = Packet::Kind::kText;
  text.resize(static_cast<std::size_t>(got));
  packet.text = std::move(text);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
    packet.passed = OwnedFd(passed);
  }
  return packet;
}

}  // namespace tranche::sim
