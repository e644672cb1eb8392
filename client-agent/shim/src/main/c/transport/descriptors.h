// SPDX-License-Identifier: Apache-2.0
// Descriptors that travel over unix sockets, each with one byte.
#pragma once

#include <stdbool.h>

/** Sends a descriptor, which stays open here; false if the connection has broken. */
bool descriptor_send(int socket, int descriptor);

/** Receives one, which is the caller's to close; -1 if none came. */
int descriptor_receive(int socket);
