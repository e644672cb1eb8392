// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.image.SessionImages;
import io.gpupool.server.takeover.SessionRecords;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The files of a server's sessions.
 *
 * @param records of sessions, for the server's next process
 * @param images of suspended sessions; null: there is no folder for them
 * @param disk runs what waits for a disk
 */
public record SessionFiles(SessionRecords records, @Nullable SessionImages images, Executor disk) {}
