/* The members of the kernel's structures that several probes read. The loader sets their offsets
 * for the running kernel (CO-RE), so only names and types matter here. Structures of older kernels
 * are beside the code that reads them. */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
  unsigned long s_magic;
  unsigned long s_flags;
  __u32 s_dev;
};

struct inode {
  struct super_block* i_sb;
  unsigned short i_mode;
};

struct file {
  struct inode* f_inode;
};

struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};

struct files_struct {
  struct fdtable* fdt;
};

struct maple_tree {
  void* ma_root;
};

struct mm_struct {
  struct maple_tree mm_mt;
};

struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  struct file* vm_file;
  unsigned long vm_flags;
};

struct task_struct {
  int pid;
  int tgid;
  unsigned int __state;
  int pagefault_disabled;
  struct mm_struct* mm;
  struct files_struct* files;
  struct task_struct* real_parent;
  char comm[16];
};

#if defined(__x86_64__)
struct pt_regs {
  unsigned long orig_ax;
  unsigned long di;
};
#elif defined(__aarch64__)
struct pt_regs {
  __u64 orig_x0;
  int syscallno;
};
#endif

struct gendisk {
  int major;
  int first_minor;
};

struct request_queue {
  struct gendisk* disk;
};

struct request {
  struct request_queue* q;
  unsigned int cmd_flags;
  unsigned int __data_len;
  __u64 __sector;
};

struct sk_buff {
  unsigned int len;
};

#pragma clang attribute pop

/* Number and first argument of the system call that saved the registers; and the number of words in
 * the registers that programs see (asm/ptrace.h). */
#if defined(__x86_64__)
#define CALL_NUMBER(registers) ((registers)->orig_ax)
#define FIRST_ARGUMENT(registers) ((registers)->di)
#define USER_REGISTERS 21
#elif defined(__aarch64__)
#define CALL_NUMBER(registers) ((__u64)(registers)->syscallno)
#define FIRST_ARGUMENT(registers) ((registers)->orig_x0)
#define USER_REGISTERS 34
#endif
