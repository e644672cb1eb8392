// SPDX-License-Identifier: Apache-2.0
// fork(): the child starts afresh. It has neither the session nor its handles, and may call cuInit.
#pragma once

/** Sees to it from now on; any number of calls. */
void fork_watch(void);
