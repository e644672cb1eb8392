// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.inventory.ServedGpus;
import io.gpupool.server.options.ServerOptions;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

/**
 * The context that the parts of a server share.
 *
 * @param name of the server in its pool
 * @param host at which clients reach its ports
 * @param meters the registry of a server that is measured
 */
record ServerContext(
    String name,
    String host,
    ServerOptions options,
    ServedGpus served,
    ServerTls tls,
    @Nullable MeterRegistry meters,
    ServerThreads threads,
    CloseSteps steps) {}
