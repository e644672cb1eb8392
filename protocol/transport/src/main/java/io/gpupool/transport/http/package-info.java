// SPDX-License-Identifier: Apache-2.0

/** HTTP/1.1 for handlers of the JDK's interface, on Netty. */
@NullMarked
package io.gpupool.transport.http;

import org.jspecify.annotations.NullMarked;
