// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client;

import io.gpupool.transport.dial.CallStreamDialer;
import io.gpupool.wire.ClientHello;
import io.gpupool.wire.LocalSocketName;
import io.gpupool.wire.SealSecret;
import org.jspecify.annotations.Nullable;

/**
 * A session that waits for one more connection of its program.
 *
 * @param hello the first message on that connection
 * @param secret with which that connection is sealed; null: it is not
 * @param localSocket of the server, as {@link OpenedSession} has it
 */
public record ResumedSession(
    CallStreamDialer.Target callStream,
    ClientHello hello,
    @Nullable SealSecret secret,
    @Nullable LocalSocketName localSocket) {}
