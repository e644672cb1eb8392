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
 * @param onPeerAsked connects a worker to one at another server, as its message asks
 */
record SessionServices(
    WorkerStartQueue starts,
    Timers timers,
    Executor control,
    BiConsumer<Session, TextMessage> onPeerAsked,
    SessionCache cache,
    ServerMetrics metrics,
    SessionRecords records) {}
