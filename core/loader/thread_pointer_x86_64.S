// The thread pointer and what lies at fixed distances from it (ELF Handling For Thread-Local
// Storage, section 3.4.6 for x86-64).
    .text

// void sesame_set_thread_pointer(void* pointer): by the instruction, which is allowed when the
// kernel says HWCAP2_FSGSBASE.
    .globl  sesame_set_thread_pointer
    .hidden sesame_set_thread_pointer
    .type   sesame_set_thread_pointer, @function
    .p2align 4
sesame_set_thread_pointer:
    .cfi_startproc
    wrfsbase %rdi
    ret
    .cfi_endproc
    .size   sesame_set_thread_pointer, .-sesame_set_thread_pointer

// The function that a TLS descriptor of a variable in a rank's thread block calls. %rax points to
// the descriptor. Its second word, the distance from the thread pointer, is the result, in %rax. No
// other register changes.
    .globl  sesame_static_descriptor
    .hidden sesame_static_descriptor
    .type   sesame_static_descriptor, @function
    .p2align 4
sesame_static_descriptor:
    .cfi_startproc
    movq    8(%rax), %rax
    ret
    .cfi_endproc
    .size   sesame_static_descriptor, .-sesame_static_descriptor

// kThreadWindow bytes, aligned to kThreadAlignment. The linker puts common variables behind all
// others, so that the window ends at the thread pointer.
    .hidden sesame_thread_window
    .tls_common sesame_thread_window, 65536, 256
    .section .note.GNU-stack,"",@progbits
