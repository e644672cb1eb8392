// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import io.gpupool.runtime.LogConfiguration;
import java.util.List;

/**
 * The log configuration of {@code gpupool-k8s}, which logs as services do. It takes precedence over
 * the gpupool command's, which is in the same class path.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_TOP_PRIORITY)
public final class KubernetesLogConfiguration extends LogConfiguration {
  @Override
  protected Level defaultLevel() {
    return Level.INFO;
  }

  @Override
  protected List<String> quietLoggers() {
    return List.of(
        // It warns about each unix socket, because gRPC asks it to keep sockets alive.
        "io.netty.bootstrap",
        // It logs each failed attempt with a stack trace; ElectionLock logs the first.
        "io.fabric8.kubernetes.client.extended.leaderelection");
  }
}
