// SPDX-License-Identifier: Apache-2.0
//
// Lists of system calls.
#pragma once
#include <sys/syscall.h>

// Headers before Linux 5.8 do not have these; the numbers are the same on all architectures.
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

// What every worker may call, whatever the arguments. The hottest first: before Linux 5.11 the list is gone through
// at each call.
static const int calls_of_all[] = {
    // the call stream, waiting
    SYS_recvfrom, SYS_sendto, SYS_futex, SYS_read, SYS_write, SYS_ppoll, SYS_sendmsg, SYS_recvmsg, SYS_sched_yield,
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_pipe2, SYS_pselect6, SYS_shutdown,
    SYS_getsockopt, SYS_setsockopt, SYS_getsockname, SYS_getpeername,
    // the socket on which the next server claims the worker, which the launcher has bound
    SYS_accept4,
    // memory
    SYS_mprotect, SYS_madvise, SYS_mmap, SYS_munmap, SYS_mremap, SYS_membarrier, SYS_brk, SYS_mincore, SYS_msync,
    SYS_mlock, SYS_munlock, SYS_memfd_create, SYS_ftruncate, SYS_fallocate,
    // time
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_clock_getres, SYS_gettimeofday,
    // files, which Landlock has limited to a few
    SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_lseek, SYS_openat, SYS_close, SYS_fstat, SYS_newfstatat,
    SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_statfs, SYS_fstatfs, SYS_getcwd,
    SYS_dup, SYS_dup3, SYS_flock, SYS_fadvise64,
    // signals, threads
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_sigaltstack,
    SYS_restart_syscall, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_exit,
    SYS_exit_group,
    // what the process and the machine are
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sched_getaffinity,
    SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
    SYS_getpriority, SYS_getcpu, SYS_uname, SYS_sysinfo, SYS_times, SYS_getrusage, SYS_getrlimit, SYS_getrandom,
#ifdef __x86_64__
    // older forms of these
    SYS_poll, SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_pipe, SYS_select, SYS_epoll_wait,
    SYS_time,
#endif
};

// What NVIDIA's driver calls besides.
static const int calls_of_nvidia[] = {
    SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_mbind, SYS_set_mempolicy,
    SYS_get_mempolicy, SYS_mlock2, SYS_mlockall, SYS_munlockall, SYS_sched_setaffinity, SYS_unlinkat,
    SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime, SYS_capget,
#ifdef __x86_64__
    SYS_unlink,
#endif
};

// What nothing of a worker ever calls: it ends the process.
static const int calls_that_kill[] = {
    // other programs, other processes
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd,
    // large and rarely used parts of the kernel
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_open_by_handle_at,
    // mounts, namespaces, the machine
    SYS_mount, SYS_umount2, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_pivot_root,
    SYS_chroot, SYS_setns, SYS_unshare, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_quotactl, SYS_acct,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm,
#endif
    // other users
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_capset,
};
