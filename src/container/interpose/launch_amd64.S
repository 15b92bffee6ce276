// The usual way of a launch on x86-64: what passes() in gate.h does, in the three registers that hold
// no argument. Everything else goes to tranche_slow_<symbol> (launches.cpp), with its arguments as
// they came. Offsets: static_assert in gate.cpp and estimates.h.

#if defined(__x86_64__)

// rax: the stream; `default_key`: where in the thread's block the key of the symbol's own default stream
// is, in bytes. Leaves the batch in r10.
.macro usual symbol, default_key
    cmpb $0, tranche_is_gated(%rip)
    je 8f
    cmp $2, %rax
    ja 1f
    mov tranche_thread@gottpoff(%rip), %r10
    // 0: the symbol's own default; 1: the legacy stream; 2: the thread's own.
    mov $\default_key, %r11d
    test %rax, %rax
    jz 0f
    lea (, %rax, 8), %r11
0:  add %r11, %r10
    mov %fs:(%r10), %rax
1:  mov tranche_thread@gottpoff(%rip), %r10
    mov %fs:(%r10), %r10
    cmp %rax, (%r10)
    jne 9f
.endm

.macro count symbol, what
    mov \what, %rax
    shr $4, %rax
    movabs $0x9E3779B97F4A7C15, %r11
    imul %r11, %rax
    shr $52, %rax
    shl $4, %rax
    lea tranche_estimates(%rip), %r11
    add %r11, %rax
    cmp \what, (%rax)
    jne 9f
    mov 8(%rax), %eax
    mov 8(%r10), %r11
    sub %rax, %r11
    jle 9f
    mov %r11, 8(%r10)
    incl 16(%r10)
    cmp \what, 24(%r10)
    jne 7f
8:  jmp *tranche_real_\symbol(%rip)
7:  lea tranche_mixed(%rip), %rax
    mov %rax, 24(%r10)
    jmp 8b
9:  jmp tranche_slow_\symbol
.endm

.macro begin symbol
    .text
    .p2align 4
    .globl \symbol
    .type \symbol, @function
\symbol:
    .cfi_startproc
    endbr64
.endm

.macro end symbol
    .cfi_endproc
    .size \symbol, . - \symbol
.endm

// The ninth argument is the stream.
.macro launch symbol, default_key
    begin \symbol
    mov 24(%rsp), %rax
    usual \symbol, \default_key
    count \symbol, %rdi
    end \symbol
.endm

// The stream is in the configuration, the function is the second argument.
.macro launch_ex symbol, default_key
    begin \symbol
    test %rdi, %rdi
    jz 9f
    mov 32(%rdi), %rax
    usual \symbol, \default_key
    count \symbol, %rsi
    end \symbol
.endm

launch cuLaunchKernel, 8
launch cuLaunchKernel_ptsz, 16
launch cuLaunchCooperativeKernel, 8
launch cuLaunchCooperativeKernel_ptsz, 16
launch_ex cuLaunchKernelEx, 8
launch_ex cuLaunchKernelEx_ptsz, 16

#endif

    .section .note.GNU-stack, "", %progbits
