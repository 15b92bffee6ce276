#include "process/poller.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

namespace tranche::process {

Result<Poller> Poller::create() {
  Descriptor fd(epoll_create1(EPOLL_CLOEXEC));
  if (!fd.is_open()) return std::unexpected(errno_error(errno, "epoll_create1"));
  return Poller(std::move(fd));
}

Result<void> Poller::add(int fd, Handler handler) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return std::unexpected(errno_error(errno, "epoll_ctl"));
  }
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  return {};
}

void Poller::remove(int fd) {
  if (handlers_.erase(fd) != 0) epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

bool Poller::wait(std::chrono::milliseconds timeout) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(timeout.count()));
  for (int i = 0; i < count; ++i) {
    // An earlier handler of this round may have removed this one.
    const auto entry = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (entry == handlers_.end()) continue;
    const auto handler = entry->second;
    (*handler)();
  }
  return count > 0;
}

}  // namespace tranche::process
