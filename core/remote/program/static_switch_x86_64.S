/* Switches between a statically linked program and our libraries (static_switch.h). Registers of
 * arguments and results are left alone; the return address is kept apart, so that arguments on the
 * stack are where the function expects them. A call that has been left by longjmp() is dropped at
 * the next one from a stack pointer that is not below it. A signal handler may make calls between
 * any two instructions. So an entry is taken before it is filled and given back after its last use,
 * until it is filled it is one that has not been left, and only one of two drops it. */
#define TOP %gs:0
#define OWN_POINTER %gs:8
#define OWN_ERRNO %gs:16
#define PROGRAM_ERRNO %gs:24
#define FUNCTION %gs:32
#define PROGRAM_POINTER %gs:40
#define CALL_BYTES 32
#define HANDLERS 48

/* Takes an entry, with its address after it in %r10, and moves the return address there. Entries
 * that are free have any stack pointer, those that handlers have given back the highest. */
.macro take_entry
  movq TOP, %r10
  movq $-1, 8(%r10)
  addq $CALL_BYTES, TOP
  movq TOP, %r10
  popq -32(%r10)
.endm

/* Gives the last entry back and returns. */
.macro return_by_entry
  movq TOP, %r10
  movq -32(%r10), %r11
  movq $-1, -24(%r10)
  subq $CALL_BYTES, TOP
  jmp *%r11
.endm

  .text

/* The program calls our function at %r11. */
  .globl sesame_static_enter
  .type sesame_static_enter, @function
sesame_static_enter:
  rdfsbase %r10
  cmpq OWN_POINTER, %r10
  je 9f /* its C library has no thread pointer yet */
  leaq 8(%rsp), %r10 /* the stack pointer after this call */
  pushq %rbx
  pushq %rax
2:
  movq TOP, %rax
  cmpq %r10, -24(%rax)
  ja 3f
  leaq -CALL_BYTES(%rax), %rbx
  cmpxchgq %rbx, TOP /* not if a signal handler has dropped it */
  jmp 2b
3:
  popq %rax
  popq %rbx
  take_entry
  movq %rsp, -24(%r10)
  movq %rax, -16(%r10)
  rdfsbase %rax
  movq %rax, PROGRAM_POINTER
  addq PROGRAM_ERRNO, %rax
  movl (%rax), %eax
  movq OWN_ERRNO, %r10
  movl %eax, (%r10)
  movq TOP, %r10
  movq OWN_POINTER, %rax
  wrfsbase %rax
  movq -16(%r10), %rax
  call *%r11
  movq OWN_ERRNO, %r11
  movl (%r11), %ecx
  movq PROGRAM_POINTER, %r11
  wrfsbase %r11
  addq PROGRAM_ERRNO, %r11
  movl %ecx, (%r11)
  return_by_entry
9:
  jmp *%r11
  .size sesame_static_enter, . - sesame_static_enter

/* We call the program's function, which is in the switch. */
  .globl sesame_static_leave
  .type sesame_static_leave, @function
sesame_static_leave:
  movq FUNCTION, %r11
  take_entry
  movq %rax, -16(%r10)
  leaq 8(%rsp), %rax /* above that of a call that the function is itself, by a jump to ours */
  movq %rax, -24(%r10)
  movq PROGRAM_POINTER, %rax
  wrfsbase %rax
  movq -16(%r10), %rax
  call *%r11
  movq OWN_POINTER, %r11
  wrfsbase %r11
  return_by_entry
  .size sesame_static_leave, . - sesame_static_leave

/* A signal that the program handles has come while its code or ours ran. */
  .globl sesame_static_signal
  .type sesame_static_signal, @function
sesame_static_signal:
  movslq %edi, %r10
  movq %gs:HANDLERS(,%r10,8), %r11
  pushq %rbx
  rdfsbase %rbx
  movq PROGRAM_POINTER, %r10
  testq %r10, %r10
  jz 1f
  wrfsbase %r10
1:
  call *%r11
  wrfsbase %rbx
  popq %rbx
  ret
  .size sesame_static_signal, . - sesame_static_signal

  .section .note.GNU-stack, "", @progbits
