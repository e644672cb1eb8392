// SPDX-License-Identifier: Apache-2.0
/** TLS: files of certificates that are read again, the handshake, the peer's identity. */
@NullMarked
package io.gpupool.transport.tls;

import org.jspecify.annotations.NullMarked;
