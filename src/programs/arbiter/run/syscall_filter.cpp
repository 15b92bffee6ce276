#include "arbiter/run/syscall_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace tranche::arbiter {
namespace {

static_assert(std::endian::native == std::endian::little, "the lower half of an argument is first");

// Refused whatever the arguments.
constexpr std::array kRefused = std::to_array<std::uint32_t>({
    // Signals to others. tgkill to this process is allowed: abort() and pthread_kill() use it.
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_send_signal,
    // Access to other processes' memory and descriptors.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_move_pages,
    SYS_migrate_pages,
    // Starting programs.
    SYS_execve,
    SYS_execveat,
    // Mounts, namespaces, and files past the mounts.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_unshare,
    SYS_setns,
    SYS_open_by_handle_at,
    // The node: modules, kernels, clocks, names, swap, quotas, keys.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_syslog,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Large parts of the kernel, and io_uring, which bypasses this filter.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
#ifdef __x86_64__
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
});

// Allowed if the argument of this index is 0: the caller itself.
struct OfItself {
  std::uint32_t number;
  unsigned argument;
};
constexpr std::array kOfItself = std::to_array<OfItself>({
    {SYS_prlimit64, 0},
    {SYS_sched_setattr, 0},
    {SYS_sched_setscheduler, 0},
    {SYS_sched_setparam, 0},
    {SYS_sched_setaffinity, 0},
    {SYS_setpriority, 1},
    {SYS_ioprio_set, 1},
});

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA);
#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the numbers of system calls here are those of x86-64 and arm64"
#endif

class Program {
 public:
  Program() {
    // Another architecture's calls (32 bit) have other numbers: none is allowed.
    load(offsetof(seccomp_data, arch));
    skip_if(BPF_JEQ, kArchitecture, 1);
    end(kRefuse);
    load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
    constexpr std::uint32_t kX32 = 0x40000000;
    skip_unless(BPF_JGE, kX32, 1);
    end(kRefuse);
#endif
  }
  void refuse(std::uint32_t number) {
    skip_unless(BPF_JEQ, number, 1);
    end(kRefuse);
  }
  // Refuses the call unless both halves of its argument are `wanted`.
  void refuse_unless(std::uint32_t number, unsigned argument, std::uint32_t wanted) {
    const auto low =
        static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(__u64));
    skip_unless(BPF_JEQ, number, 4);
    load(low);
    skip_unless(BPF_JEQ, wanted, 1);
    end(SECCOMP_RET_ALLOW);
    end(kRefuse);
  }
  std::vector<sock_filter>& finish() {
    end(SECCOMP_RET_ALLOW);
    return code_;
  }

 private:
  void put(unsigned code, std::uint32_t k, unsigned yes = 0, unsigned no = 0) {
    code_.push_back({.code = static_cast<__u16>(code),
                     .jt = static_cast<__u8>(yes),
                     .jf = static_cast<__u8>(no),
                     .k = k});
  }
  void load(std::size_t offset) {
    put(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void skip_if(unsigned test, std::uint32_t k, unsigned count) {
    put(BPF_JMP | test | BPF_K, k, count, 0);
  }
  void skip_unless(unsigned test, std::uint32_t k, unsigned count) {
    put(BPF_JMP | test | BPF_K, k, 0, count);
  }
  void end(std::uint32_t answer) { put(BPF_RET | BPF_K, answer); }

  std::vector<sock_filter> code_;
};

}  // namespace

Result<void> refuse_unused_syscalls() {
  Program program;
  for (const auto number : kRefused) program.refuse(number);
  // The kernel takes process ids as 32 bits, whatever the upper half of the register holds.
  for (const auto& [number, argument] : kOfItself) program.refuse_unless(number, argument, 0);
  program.refuse_unless(SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));
  auto& code = program.finish();
  const sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  // Required to set a filter without CAP_SYS_ADMIN. It also disables set-uid.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return std::unexpected(errno_error(errno, "prctl(PR_SET_NO_NEW_PRIVS)"));
  }
  const long done =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
  if (done == 0) return {};
  return std::unexpected(errno_error(done > 0 ? EBUSY : errno, "seccomp"));
}

}  // namespace tranche::arbiter
