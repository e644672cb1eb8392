// SPDX-License-Identifier: Apache-2.0
/** Connections to pools: addresses, channels, TLS, tokens, and the errors of calls. */
package io.gpupool.client.connection;
