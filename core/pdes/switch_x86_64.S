// void sesame_switch_stack(void** save, void* load)
// Stores the callee-saved registers and the floating-point control words of the running fiber on
// its stack, and the stack pointer in *save. Then resumes the fiber whose stack pointer is `load`
// (System V ABI, AMD64 supplement, section 3.2.1: rbx, rbp, r12-r15, mxcsr control bits, x87 CW).
    .text
    .globl  sesame_switch_stack
    .hidden sesame_switch_stack
    .type   sesame_switch_stack, @function
    .p2align 5
sesame_switch_stack:
    .cfi_startproc
    pushq   %rbp
    pushq   %rbx
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    subq    $8, %rsp
    stmxcsr (%rsp)
    fnstcw  4(%rsp)
    movq    %rsp, (%rdi)
    movq    %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw   4(%rsp)
    addq    $8, %rsp
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbx
    popq    %rbp
    ret
    .cfi_endproc
    .size   sesame_switch_stack, .-sesame_switch_stack

// The first return address of a new fiber. The argument of its entry function is in r12, the
// address of the function in r13. The zeroed frame pointer ends a backtrace here.
    .globl  sesame_fiber_start
    .hidden sesame_fiber_start
    .type   sesame_fiber_start, @function
    .p2align 4
sesame_fiber_start:
    .cfi_startproc
    .cfi_undefined rip
    xorl    %ebp, %ebp
    movq    %r12, %rdi
    callq   *%r13
    ud2
    .cfi_endproc
    .size   sesame_fiber_start, .-sesame_fiber_start
    .section .note.GNU-stack,"",@progbits
