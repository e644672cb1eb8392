// SPDX-License-Identifier: Apache-2.0
/** Connections to pools: addresses, channels, TLS, tokens, and the errors of calls. */
@NullMarked
package io.gpupool.client.connection;

import org.jspecify.annotations.NullMarked;
