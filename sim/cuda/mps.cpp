#include "sim/cuda/mps.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "fmt/format.h"
#include "sim/machine/read_number.h"

namespace tranche::sim::cuda {

using namespace abi;  // NOLINT(google-build-using-namespace): see library.h

namespace {

template <class Number>
Number number(std::string_view text) {
  return read_number<Number>(text).value_or(0);
}

// "gpu:gi:ci:bytes".
std::optional<MpsClient::Granted> read_granted(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const auto target = decode_target(std::string_view(text).substr(0, colon));
  if (!target) return std::nullopt;
  return MpsClient::Granted{
      .target = *target,
      .memory_limit = number<std::uint64_t>(std::string_view(text).substr(colon + 1))};
}

// CUDA_MPS_SM_PARTITION, as one word.
std::string own_partition() {
  const char* const text = std::getenv("CUDA_MPS_SM_PARTITION");
  const auto words = split_words(text == nullptr ? "" : text);
  return words.size() == 1 ? words.front() : "-";
}

}  // namespace

bool is_fatal(CUresult error) {
  return error == CUDA_ERROR_ILLEGAL_ADDRESS || error == CUDA_ERROR_LAUNCH_FAILED ||
         error == CUDA_ERROR_LAUNCH_TIMEOUT || error == CUDA_ERROR_ECC_UNCORRECTABLE ||
         error == CUDA_ERROR_HARDWARE_STACK_ERROR || error == CUDA_ERROR_ILLEGAL_INSTRUCTION ||
         error == CUDA_ERROR_MISALIGNED_ADDRESS || error == CUDA_ERROR_INVALID_ADDRESS_SPACE ||
         error == CUDA_ERROR_INVALID_PC;
}

CUresult MpsClient::connect(const Simulation& sim, const ProcessSlot& slot) {
  auto daemon = connect_mps(mps_pipe_folder());
  if (!daemon) return CUDA_SUCCESS;
  struct stat info = {};
  std::ignore = ::stat(sim.path().c_str(), &info);
  const std::string hello =
      fmt::format("client {} {} {} {} {}", &slot - sim.state().processes, slot.holder.load(),
                  info.st_dev, info.st_ino, own_partition());
  if (!send_packet(daemon->get(), hello)) return CUDA_ERROR_MPS_CONNECTION_FAILED;
  const Packet packet = receive_packet(daemon->get());
  const auto words = split_words(packet.text);
  if (words.size() == 2 && words[0] == "refuse") {
    return static_cast<CUresult>(number<std::uint32_t>(words[1]));
  }
  if (words == std::vector<std::string>{"stranger"}) return CUDA_SUCCESS;
  if (words.size() < 4 || words[0] != "welcome") return CUDA_ERROR_MPS_CONNECTION_FAILED;
  own_ = mps_limits_from_environment();
  for (const auto& [uuid, bytes] : own_.memory_by_uuid) {
    const auto& gpus = sim.state().gpus;
    for (std::uint32_t i = 0; i < sim.state().gpu_count; ++i) {
      if (uuid == gpus[i].uuid) own_by_gpu_[i] = bytes;
    }
  }
  group_ = number<std::uint32_t>(words[1]);
  thread_permille_ = std::min(number<std::uint32_t>(words[2]), own_.thread_permille);
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (const auto one = read_granted(words[i])) granted_.push_back(*one);
  }
  connection_ = *std::move(daemon);
  return CUDA_SUCCESS;
}

std::uint64_t MpsClient::memory_limit(const UseTarget& device, std::uint32_t ordinal) const {
  std::uint64_t limit = 0;
  for (const Granted& one : granted_) {
    if (same_device(one.target, device)) limit = one.memory_limit;
  }
  const auto lower_by = [&limit](const auto& own, std::uint32_t device_number) {
    const auto entry = own.find(device_number);
    if (entry == own.end()) return;
    limit = limit == 0 ? entry->second : std::min(limit, entry->second);
  };
  lower_by(own_.memory, ordinal);
  lower_by(own_by_gpu_, device.gpu);
  return limit;
}

bool MpsClient::has(const UseTarget& device) const {
  return std::ranges::any_of(granted_,
                             [&](const Granted& one) { return same_device(one.target, device); });
}

CUresult MpsClient::end(std::uint32_t error) {
  std::uint32_t none = 0;
  ended_.compare_exchange_strong(none, error);
  return static_cast<CUresult>(ended_.load());
}

// The server's unrequested message, or its end.
CUresult MpsClient::end_by(const Packet& packet) {
  const auto words = split_words(packet.text);
  const bool says_why = words.size() == 2 && words[0] == "error";
  return end(says_why ? number<std::uint32_t>(words[1]) : kMpsRpcFailure);
}

CUresult MpsClient::state() {
  if (const auto ended = ended_.load(std::memory_order_relaxed); ended != 0) {
    return static_cast<CUresult>(ended);
  }
  // The owner of the lock is waiting for a reply, and will receive it.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return CUDA_SUCCESS;
  const Packet packet = receive_packet(connection_.get(), true);
  return packet.kind == Packet::Kind::kNothing ? CUDA_SUCCESS : end_by(packet);
}

CUresult MpsClient::add_context(const UseTarget& device) {
  const std::scoped_lock lock(mutex_);
  if (!send_packet(connection_.get(), "context " + encode(device))) return end_by({});
  const Packet packet = receive_packet(connection_.get());
  const auto words = split_words(packet.text);
  if (words == std::vector<std::string>{"done"}) return CUDA_SUCCESS;
  if (words.size() == 2 && words[0] == "refuse") {
    return static_cast<CUresult>(number<std::uint32_t>(words[1]));
  }
  return end_by(packet);
}

void MpsClient::remove_context(const UseTarget& device) {
  const std::scoped_lock lock(mutex_);
  send_packet(connection_.get(), "destroy " + encode(device));
}

void MpsClient::report_fault(const UseTarget& device, CUresult error) {
  const std::scoped_lock lock(mutex_);
  end(static_cast<std::uint32_t>(error));
  send_packet(connection_.get(),
              fmt::format("fault {} {}", encode(device), static_cast<std::uint32_t>(error)));
}

}  // namespace tranche::sim::cuda
