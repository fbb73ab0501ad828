/* The symbols MPI_X and PMPI_X that programs find before those of their MPI. Each jumps to its
 * entry in sesame_mpi_entries, with all arguments unchanged. At first each entry is code that calls
 * sesame_mpi_resolve(index), which sets all entries, and jumps to the function that it returns. */

#if defined(__x86_64__)

	.text
	.altmacro
	.set index, 0

	.macro define symbol, number
	.globl \symbol
	.type \symbol, @function
	.p2align 4
\symbol:
	jmp *sesame_mpi_entries + 8 * \number(%rip)
	.size \symbol, . - \symbol
first_\number:
	pushq $\number
	jmp resolve
	.endm

	.type resolve, @function
resolve:
	pushq %rdi
	pushq %rsi
	pushq %rdx
	pushq %rcx
	pushq %r8
	pushq %r9
	pushq %rax
	subq $136, %rsp /* with what was pushed, a multiple of 16 */
	movaps %xmm0, (%rsp)
	movaps %xmm1, 16(%rsp)
	movaps %xmm2, 32(%rsp)
	movaps %xmm3, 48(%rsp)
	movaps %xmm4, 64(%rsp)
	movaps %xmm5, 80(%rsp)
	movaps %xmm6, 96(%rsp)
	movaps %xmm7, 112(%rsp)
	movq 192(%rsp), %rdi
	call sesame_mpi_resolve
	movq %rax, %r11
	movaps (%rsp), %xmm0
	movaps 16(%rsp), %xmm1
	movaps 32(%rsp), %xmm2
	movaps 48(%rsp), %xmm3
	movaps 64(%rsp), %xmm4
	movaps 80(%rsp), %xmm5
	movaps 96(%rsp), %xmm6
	movaps 112(%rsp), %xmm7
	addq $136, %rsp
	popq %rax
	popq %r9
	popq %r8
	popq %rcx
	popq %rdx
	popq %rsi
	popq %rdi
	addq $8, %rsp
	jmp *%r11
	.size resolve, . - resolve

#elif defined(__aarch64__)

	.text
	.altmacro
	.set index, 0

	.macro define symbol, number
	.globl \symbol
	.type \symbol, %function
	.p2align 4
\symbol:
	adrp x16, sesame_mpi_entries + 8 * \number
	ldr x16, [x16, :lo12:sesame_mpi_entries + 8 * \number]
	br x16
	.size \symbol, . - \symbol
first_\number:
	mov x17, #\number
	b resolve
	.endm

	.type resolve, %function
resolve:
	stp x29, x30, [sp, #-224]!
	mov x29, sp
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov x0, x17
	bl sesame_mpi_resolve
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	br x16
	.size resolve, . - resolve

#else
#error "the tracer's MPI symbols are written for x86-64 and aarch64"
#endif

	.hidden sesame_mpi_resolve
	.hidden sesame_mpi_entries
	.macro both symbol
	define \symbol, %index
	.set index, index + 1
	define P\symbol, %index
	.set index, index + 1
	.endm

#define SESAME_SYMBOL(name) both name;
#include "mpi_symbols.def"

	.macro entry number
	.quad first_\number
	.endm

	.data
	.globl sesame_mpi_entries
	.type sesame_mpi_entries, STT_OBJECT
	.p2align 3
sesame_mpi_entries:
	.set count, index
	.set index, 0
	.rept count
	entry %index
	.set index, index + 1
	.endr
	.size sesame_mpi_entries, . - sesame_mpi_entries

	.section .note.GNU-stack, "", %progbits
