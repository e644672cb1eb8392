// SPDX-License-Identifier: Apache-2.0
/** TLS on the call-stream port. */
@NullMarked
package io.gpupool.server.tls;

import org.jspecify.annotations.NullMarked;
