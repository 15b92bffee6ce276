#include "process/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace tranche::process {

Result<std::unique_ptr<Mailbox>> Mailbox::open() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return std::unexpected(errno_error(errno, "eventfd"));
  return std::unique_ptr<Mailbox>(new Mailbox(fd));
}

Mailbox::~Mailbox() { ::close(fd_); }

void Mailbox::post(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  // The only failure, EAGAIN, means that the counter is full; then the loop wakes anyway.
  (void)!::eventfd_write(fd_, 1);
}

std::vector<Mailbox::Task> Mailbox::take() {
  eventfd_t ignored = 0;
  (void)!::eventfd_read(fd_, &ignored);
  const std::scoped_lock lock(mutex_);
  return std::exchange(tasks_, {});
}

}  // namespace tranche::process
