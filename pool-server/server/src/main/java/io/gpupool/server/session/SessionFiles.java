// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.server.takeover.SessionRecords;
import java.util.concurrent.Executor;

/**
 * The files of a server's sessions.
 *
 * @param records of sessions, for the server's next process
 * @param disk runs what waits for a disk
 */
public record SessionFiles(SessionRecords records, Executor disk) {}
