/* vfork: the child uses its parent's memory, and thus its streams. Nothing of it is recorded until
 * it calls exec. The child returns from here before its parent does, so nothing that the parent
 * needs may be on the stack meanwhile. */
#if defined(__x86_64__)
  .text
  .globl vfork
  .type vfork, @function
  .globl __vfork
  .type __vfork, @function
vfork:
__vfork:
  .cfi_startproc
  endbr64
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call sesame_before_vfork
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rdi /* the return address: the child's calls overwrite it on the stack */
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdi
  movl $58, %eax /* SYS_vfork */
  syscall
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rip, 0
  testl %eax, %eax
  jnz 1f
  ret
1:
  movl %eax, %edi
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call sesame_after_vfork
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size vfork, .-vfork
  .size __vfork, .-__vfork
#endif
  .section .note.GNU-stack, "", %progbits
