/*
 * Let a user-mode Linux of today's distributions run on processors with AMX.
 *
 * User-mode Linux restores floating-point registers with a buffer of the size that it
 * was built for; a processor with AMX has more, and the host's kernel refuses a partial
 * set (EFAULT), on which user-mode Linux panics.  This completes the buffer with the
 * registers as they are.  Build: cc -shared -fPIC -o wide_registers.so wide_registers.c
 * Use: LD_PRELOAD=./wide_registers.so linux.uml ...
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LARGEST = 65536 };

long ptrace(enum __ptrace_request request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    pid_t pid = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE) {
        static _Thread_local char whole[LARGEST];
        struct iovec given = *(struct iovec *)data, wide = { whole, sizeof whole };
        if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, address, &wide) == 0 && given.iov_len < wide.iov_len) {
            memcpy(whole, given.iov_base, given.iov_len);
            return syscall(SYS_ptrace, PTRACE_SETREGSET, pid, address, &wide);
        }
    }
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long word;
        long result = syscall(SYS_ptrace, request, pid, address, &word);
        return result < 0 ? result : word;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}
