// SPDX-License-Identifier: Apache-2.0
// Waiting for the socket of one connection while the answers on the others are taken.
#pragma once

#include "transport/connection.h"

/**
 * Waits until a connection's stream is ready for some of these poll events, which it answers, or returns early. With
 * POLLIN the reading is the caller's. Answers on other connections that nobody reads are taken meanwhile, because what
 * this server waits for may have to come from one that cannot go on before its answers are read.
 */
short connection_poll(struct connection *connection, short events);
