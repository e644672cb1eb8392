// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.wire.ClientHello;

/**
 * A session that waits for one more connection of its program.
 *
 * @param hello the first message on that connection
 */
public record ResumedSession(CallStreamDialer.Target callStream, ClientHello hello) {}
