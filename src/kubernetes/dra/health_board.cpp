#include "dra/health_board.h"

#include <utility>

namespace tranche::dra {
namespace {

constexpr std::chrono::seconds kKubeletAsksWithin{60};

}  // namespace

void HealthBoard::set(std::vector<DeviceHealth> devices, std::chrono::system_clock::time_point at) {
  {
    const std::scoped_lock lock(mutex_);
    view_.at = at;
    if (view_.devices == devices) return;
    view_.devices = std::move(devices);
    ++view_.version;
  }
  changed_.notify_all();
}

HealthBoard::View HealthBoard::await(std::uint64_t version,
                                     std::chrono::milliseconds longest) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [&] { return view_.stopped || view_.version != version; });
  return view_;
}

void HealthBoard::note_taken(std::chrono::steady_clock::time_point at) {
  const std::scoped_lock lock(mutex_);
  if (!taken_) taken_ = at;
}

void HealthBoard::note_asked() const {
  const std::scoped_lock lock(mutex_);
  asked_ = true;
}

bool HealthBoard::goes_unasked(std::chrono::steady_clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  return taken_ && !asked_ && now - *taken_ >= kKubeletAsksWithin;
}

void HealthBoard::stop() {
  {
    const std::scoped_lock lock(mutex_);
    view_.stopped = true;
  }
  changed_.notify_all();
}

}  // namespace tranche::dra
