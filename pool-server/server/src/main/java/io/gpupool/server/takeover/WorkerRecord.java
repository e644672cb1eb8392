// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.takeover;

import io.gpupool.runtime.ProcessStart;
import org.jspecify.annotations.Nullable;

/**
 * A worker that the server's next process can claim.
 *
 * @param token proves to the worker that the server calls
 * @param user its own user id; null: the server's
 * @param socket the name of the file in the run directory on which it listens
 */
public record WorkerRecord(
    ProcessStart process, String token, @Nullable Long user, String socket) {}
