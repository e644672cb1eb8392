// SPDX-License-Identifier: Apache-2.0
// Hooks: functions that a unit adds to a table of a unit below it, which calls them without knowing whose they are: at
// a fork, at the end of a context, before work is submitted. A table is a linker section, and an entry in it is
// constant data. Nothing runs to register an entry, so no constructor has to come before another, and a forked child
// has the tables of its parent. The hooks of one table run in no particular order.
#pragma once

/** Declares a table; `type` is the type of its functions. */
#define HOOK_TABLE(table, type) \
  extern type *const __start_hooks_##table[] __attribute__((visibility("hidden"))); \
  extern type *const __stop_hooks_##table[] __attribute__((visibility("hidden")))

/** Adds a function to a table. */
#define HOOK(table, type, function) \
  static type *const table##_##function __attribute__((section("hooks_" #table), used)) = function

/** Walks over a table; `hook` is a pointer to a pointer to a function. */
#define FOR_EACH_HOOK(table, type, hook) \
  for (type *const *hook = __start_hooks_##table; hook < __stop_hooks_##table; hook++)
