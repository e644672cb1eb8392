// SPDX-License-Identifier: Apache-2.0
// Functions of the program that the worker calls back when a stream has come to them. They run on a
// thread of their own, one after the other.
#pragma once

#include "driver.h"

/** A CALLBACK frame came. False: there is no such callback. Never blocks. */
bool callback_arrived(uint32_t number, CUresult result);

/** Whether any callback has been asked for and has not run to its end. */
bool callbacks_pending(void);

void callback_reset(void);
