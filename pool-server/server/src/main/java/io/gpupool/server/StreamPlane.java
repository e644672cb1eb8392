// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.gpupool.server.cache.TenantFiles;
import io.gpupool.server.control.ControlThread;
import io.gpupool.server.host.LinuxMemory;
import io.gpupool.server.image.PoolKeys;
import io.gpupool.server.image.SessionImages;
import io.gpupool.server.options.ServerOptions;
import io.gpupool.server.session.PeerDialer;
import io.gpupool.server.session.SessionFiles;
import io.gpupool.server.session.SessionOptions;
import io.gpupool.server.session.Sessions;
import io.gpupool.server.stream.CallStream;
import io.gpupool.server.stream.CallStreamPort;
import io.gpupool.server.stream.LocalSocket;
import io.gpupool.server.worker.WorkerPool;
import io.gpupool.transport.EventLoops;
import io.gpupool.wire.ClientHello;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of a server and the port where their call streams come in.
 *
 * @param network the event loops of the server's ports
 * @param port for call streams
 * @param local the socket for those of this machine; null: there is none
 */
record StreamPlane(
    EventLoopGroup network, Sessions sessions, int port, @Nullable LocalSocket local) {
  /** Compiled kernels and images of one tenant. */
  private static final long MAX_KERNEL_BYTES = 256L << 20;

  private static final long MAX_IMAGE_BYTES = 4L << 30;

  /** Has the sessions of the server's former process go on, and opens the port. */
  static StreamPlane open(
      ServerContext context,
      PoolState state,
      LeasePlane leases,
      WorkerPool workers,
      RunPlane run,
      TakeoverPlane takeover)
      throws IOException {
    EventLoopGroup network = openNetwork(context);
    ControlThread control = context.threads().control();
    ServerOptions options = context.options();
    Sessions sessions =
        new Sessions(
            leases.leases(),
            state.tokens(),
            workers,
            control,
            control,
            new PeerDialer(state.capacity().members(), network, context.tls().peers()),
            new SessionOptions(
                options.limits().sessions(), new LinuxMemory(), keptFiles(System.getenv())),
            new SessionFiles(run.records(), images(options, state), context.threads().disk()));
    takeover.finish(sessions);
    BiConsumer<ClientHello, CallStream> join =
        (hello, stream) -> control.execute(() -> sessions.join(hello, stream));
    CallStreamPort port =
        new CallStreamPort(
            new InetSocketAddress(options.ports().listen(), options.ports().data()),
            network,
            context.tls().streams(),
            options.tls().sealsCallStreams(),
            join);
    context.steps().add(port::close);
    control.execute(sessions.moves()::start);
    control.execute(sessions::startRanks);
    control.execute(() -> sessions.suspensions().start(leases.resumptions()));
    Optional<LocalSocket> local = LocalSocket.open(options.ports().local(), network, join);
    local.ifPresent(socket -> context.steps().add(socket::close));
    return new StreamPlane(network, sessions, port.port(), local.orElse(null));
  }

  /** Opens the folder of suspended sessions; null: the server has none. */
  private static @Nullable SessionImages images(ServerOptions options, PoolState state)
      throws IOException {
    Optional<Path> folder = options.state().suspendFolder();
    return folder.isEmpty()
        ? null
        : new SessionImages(folder.get(), PoolKeys.get(state.records(), "sessions"));
  }

  /** Encrypting takes time that the loop of the workers' sockets should not wait for. */
  private static EventLoopGroup openNetwork(ServerContext context) {
    if (context.tls().ports() == null) {
      return context.threads().loop();
    }
    EventLoopGroup several =
        EventLoops.create("gpupool-tls", Runtime.getRuntime().availableProcessors());
    context
        .steps()
        .add(() -> several.shutdownGracefully(0, ServerThreads.STOP_SECONDS, TimeUnit.SECONDS));
    return several;
  }

  /** What sessions leave for later ones of their tenant. */
  private static Map<String, TenantFiles> keptFiles(Map<String, String> environment) {
    Map<String, TenantFiles> files = new HashMap<>();
    TenantFiles.of(environment, "GPUPOOL_KERNEL_CACHE", "kernels", MAX_KERNEL_BYTES, ".kernel")
        .ifPresent(kernels -> files.put("kernels", kernels));
    TenantFiles.of(environment, "GPUPOOL_IMAGE_CACHE", "images", MAX_IMAGE_BYTES, ".image")
        .ifPresent(images -> files.put("images", images));
    return files;
  }
}
