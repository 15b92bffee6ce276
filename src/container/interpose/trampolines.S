// dlsym, dlvsym, dlmopen: see symbol_lookup.h. All three have what is looked at as their second argument.

#if defined(__x86_64__)

.macro trampoline name, is_ours
    .text
    .globl tranche_\name
    .hidden tranche_\name
    .type tranche_\name, @function
tranche_\name:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    push %rdx
    .cfi_adjust_cfa_offset 8
    mov %rsi, %rdi
    call \is_ours
    pop %rdx
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    test %eax, %eax
    jnz tranche_lookup_\name
    jmp *tranche_real_\name(%rip)
    .cfi_endproc
    .size tranche_\name, . - tranche_\name
.endm

// One definition of each version under which programs ask for it.
.macro version name, first, second
    .globl tranche_\name\()_first
    .type tranche_\name\()_first, @function
    .set tranche_\name\()_first, tranche_\name
    .symver tranche_\name\()_first, \name\()@\first
    .globl tranche_\name\()_second
    .type tranche_\name\()_second, @function
    .set tranche_\name\()_second, tranche_\name
    .symver tranche_\name\()_second, \name\()@@\second
.endm

#define FIRST GLIBC_2.2.5
#define FIRST_DLMOPEN GLIBC_2.3.4

#elif defined(__aarch64__)

.macro trampoline name, is_ours
    .text
    .globl tranche_\name
    .hidden tranche_\name
    .type tranche_\name, %function
tranche_\name:
    .cfi_startproc
    stp x29, x30, [sp, #-48]!
    .cfi_adjust_cfa_offset 48
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    mov x0, x1
    bl \is_ours
    mov w16, w0
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_adjust_cfa_offset -48
    .cfi_restore x29
    .cfi_restore x30
    cbnz w16, 1f
    adrp x16, tranche_real_\name
    ldr x16, [x16, #:lo12:tranche_real_\name]
    br x16
1:  b tranche_lookup_\name
    .cfi_endproc
    .size tranche_\name, . - tranche_\name
.endm

.macro version name, first, second
    .globl tranche_\name\()_first
    .type tranche_\name\()_first, %function
    .set tranche_\name\()_first, tranche_\name
    .symver tranche_\name\()_first, \name\()@\first
    .globl tranche_\name\()_second
    .type tranche_\name\()_second, %function
    .set tranche_\name\()_second, tranche_\name
    .symver tranche_\name\()_second, \name\()@@\second
.endm

#define FIRST GLIBC_2.17
#define FIRST_DLMOPEN GLIBC_2.17

#else
#error "no trampolines for this machine"
#endif

trampoline dlsym, tranche_is_our_symbol
trampoline dlvsym, tranche_is_our_symbol
trampoline dlmopen, tranche_is_our_file
version dlsym, FIRST, GLIBC_2.34
version dlvsym, FIRST, GLIBC_2.34
version dlmopen, FIRST_DLMOPEN, GLIBC_2.34

    .section .note.GNU-stack, "", %progbits
