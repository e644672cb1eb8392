// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.session;

import io.gpupool.runtime.Timers;
import io.gpupool.server.metrics.ServerMetrics;
import io.gpupool.server.takeover.SessionRecords;
import io.gpupool.server.worker.WorkerStartQueue;
import io.gpupool.wire.TextMessage;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;

/**
 * The services of a server that all its sessions use.
 *
 * @param onConnection takes what a worker says of connections with other workers
 */
record SessionServices(
    WorkerStartQueue starts,
    Timers timers,
    Executor control,
    BiConsumer<Session, TextMessage> onConnection,
    SessionCache cache,
    ServerMetrics metrics,
    SessionRecords records) {}
