// SPDX-License-Identifier: Apache-2.0
// The exported functions. Each jumps to where its slot says: to gpupool's own function, or to that of NVIDIA's library.
// At first a slot says neither, and the choice is made (choice.c). Whatever a function's arguments are, none is moved.
#include "entries.h"

// ENTRY: the function, and its second name with a p before it, for profilers.
#ifdef __x86_64__
#define ENTRY(name)                                    \
  ".globl " #name ", p" #name "\n"                     \
  ".type " #name ", @function\n"                       \
  ".type p" #name ", @function\n"                      \
  #name ":\n"                                          \
  "p" #name ":\n"                                      \
  "  jmp *slot_" #name "(%rip)\n"                      \
  ".size " #name ", . - " #name "\n"                   \
  ".size p" #name ", . - p" #name "\n"                 \
  ".hidden first_" #name "\n"                          \
  "first_" #name ":\n"                                 \
  "  lea slot_" #name "(%rip), %rax\n"                 \
  "  jmp entry_first\n"
#else
#define ENTRY(name)                                    \
  ".globl " #name ", p" #name "\n"                     \
  ".type " #name ", %function\n"                       \
  ".type p" #name ", %function\n"                      \
  #name ":\n"                                          \
  "p" #name ":\n"                                      \
  "  adrp x16, slot_" #name "\n"                       \
  "  ldr x16, [x16, :lo12:slot_" #name "]\n"           \
  "  br x16\n"                                         \
  ".size " #name ", . - " #name "\n"                   \
  ".size p" #name ", . - p" #name "\n"                 \
  ".hidden first_" #name "\n"                          \
  "first_" #name ":\n"                                 \
  "  adrp x16, slot_" #name "\n"                       \
  "  add x16, x16, :lo12:slot_" #name "\n"             \
  "  b entry_first\n"
#endif

#define IMPLEMENTED(name, note)                         \
  extern char first_##name[], own_##name[];             \
  __attribute__((used)) void *slot_##name = first_##name;
#define REFUSED(name, reason) IMPLEMENTED(name, reason)
#include "functions.inc"
#undef IMPLEMENTED

#define IMPLEMENTED(name, note) {#name, &slot_##name, own_##name},
const struct entry entries[ENTRIES] = {
#include "functions.inc"
};
#undef IMPLEMENTED

#define IMPLEMENTED(name, note) ENTRY(name)
// clang-format off
__asm__(
    ".text\n"
// entry_first: keeps the arguments that are in registers, asks choice_first(slot, caller), and jumps to its answer.
#ifdef __x86_64__
    "entry_first:\n"
    "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  push %rax\n"
    "  mov %rax, %rdi\n"
    "  mov 56(%rsp), %rsi\n"
    "  call choice_first\n"
    "  add $8, %rsp\n"
    "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
    "  jmp *%rax\n"
#else
    "entry_first:\n"
    "  stp x29, x30, [sp, #-96]!\n"
    "  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, #64]\n"
    "  str x8, [sp, #80]\n"
    "  mov x0, x16\n"
    "  mov x1, x30\n"
    "  bl choice_first\n"
    "  mov x16, x0\n"
    "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, #64]\n"
    "  ldr x8, [sp, #80]\n"
    "  ldp x29, x30, [sp], #96\n"
    "  br x16\n"
#endif
#include "functions.inc"
);
