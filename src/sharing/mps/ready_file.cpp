#include "mps/ready_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include "base/fs.h"
#include "mps/protocol.h"

namespace tranche::mps {
namespace {

constexpr std::string_view kOurs = "tranche mps-control-daemon\n";
constexpr std::string_view kProtocol = "protocol ";
constexpr std::string_view kPartition = "partition ";
constexpr std::string_view kOpen = "limits open";
constexpr const char* kFresh = ".new";

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// An unknown protocol is read as the first of the list.
void read_protocol(const std::string& number, offer::MpsService& service) {
  const Protocol& protocol = protocol_of(count_in(number).value_or(0));
  service.protocol = protocol.number();
  service.namespaces = protocol.has_namespaces();
}

std::string text_of(std::span<const std::string> gpus, const offer::MpsService& service) {
  std::string text(kOurs);
  for (const auto& gpu : gpus) text += gpu + "\n";
  if (service.protocol != 2) text += fmt::format("{}{}\n", kProtocol, service.protocol);
  for (const auto& [id, partition] : service.partitions) {
    text += fmt::format("{}{} {}\n", kPartition, id, partition);
  }
  if (service.open) text += fmt::format("{}\n", kOpen);
  return text;
}

}  // namespace

// It is complete and locked before it gets its name: an empty file would count as NVIDIA's. It is a
// new file, because another process may be looking at the lock of the old one.
Result<ReadyFile> ReadyFile::make(const std::filesystem::path& fresh,
                                  std::span<const std::string> gpus,
                                  const offer::MpsService& service) {
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return std::unexpected(errno_error(errno, fresh.string()));
  ReadyFile mark(fresh, fd);
  auto lock = whole_file(F_WRLCK);
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    return std::unexpected(errno_error(errno, "lock " + fresh.string()));
  }
  const auto text = text_of(gpus, service);
  const ssize_t written = ::write(fd, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    return std::unexpected(errno_error(written < 0 ? errno : ENOSPC, fresh.string()));
  }
  return mark;
}

Result<void> ReadyFile::rename_to(const std::filesystem::path& file) {
  if (::rename(file_.c_str(), file.c_str()) != 0) {
    return std::unexpected(errno_error(errno, file.string()));
  }
  file_ = file;
  return {};
}

Result<ReadyFile> ReadyFile::put(const std::filesystem::path& file,
                                 std::span<const std::string> gpus,
                                 const offer::MpsService& service) {
  ::unlink(file.c_str());
  ASSIGN_OR_RETURN(auto mark, make(file.string() + kFresh, gpus, service));
  TRY(mark.rename_to(file));
  return mark;
}

Result<void> ReadyFile::renew(std::span<const std::string> gpus, const offer::MpsService& service) {
  ASSIGN_OR_RETURN(auto mark, make(file_.string() + kFresh, gpus, service));
  TRY(mark.rename_to(file_));
  ::close(std::exchange(fd_, std::exchange(mark.fd_, -1)));
  return {};
}

ReadyFile::ReadyFile(ReadyFile&& other) noexcept
    : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1)) {}

ReadyFile::~ReadyFile() {
  if (fd_ < 0) return;
  ::unlink(file_.c_str());
  ::close(fd_);
}

std::optional<std::set<std::string>> gpus_of(const std::filesystem::path& file) {
  const auto text = FsRoot().read(file);
  if (!text || !text->starts_with(kOurs)) return std::nullopt;
  std::set<std::string> gpus;
  std::istringstream lines(text->substr(kOurs.size()));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(' ') == line.npos) gpus.insert(line);
  }
  if (gpus.empty()) return std::nullopt;
  return gpus;
}

std::vector<std::string> left_behind(const std::filesystem::path& file) {
  const auto gpus = gpus_of(file);
  if (!gpus || trouble_of(file).empty()) return {};
  return {gpus->begin(), gpus->end()};
}

offer::MpsService service_of(const std::filesystem::path& file) {
  offer::MpsService service;
  const auto text = FsRoot().read(file);
  if (!text || !text->starts_with(kOurs)) return service;
  std::istringstream lines(text->substr(kOurs.size()));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kProtocol)) read_protocol(line.substr(kProtocol.size()), service);
    if (line == kOpen) service.open = true;
    if (!line.starts_with(kPartition)) continue;
    line.erase(0, kPartition.size());
    const auto blank = line.find(' ');
    if (blank != line.npos) service.partitions[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return service;
}

std::string trouble_of(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return "its MPS control daemon does not serve";
    return fmt::format("whether its MPS control daemon serves is not known: {}",
                       errno_error(errno, file.string()).what);
  }
  std::array<char, 8> text{};
  const bool ours = ::read(fd, text.data(), text.size()) > 0;
  auto lock = whole_file(F_RDLCK);
  const bool held = ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  if (!ours || held) return {};
  return "the supervisor of its MPS control daemon has ended";
}

}  // namespace tranche::mps
