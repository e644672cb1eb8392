// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.connection;

import io.grpc.Attributes;
import io.grpc.EquivalentAddressGroup;
import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import io.grpc.Status;
import io.grpc.StatusOr;
import io.grpc.netty.NettyChannelBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A name resolver by which gRPC tries a pool's servers one after the other. The first that answers
 * is used until it fails or is left; then it is the turn of the next. For any thread.
 */
final class PoolServers extends NameResolverProvider {
  private static final String SCHEME = "gpupool";
  private static final int PRIORITY = 5;

  /** The number of look-ups for a channel, over all its resolvers. */
  private static final NameResolver.Args.Key<AtomicInteger> TURN =
      NameResolver.Args.Key.create("gpupool-turn");

  static {
    NameResolverRegistry.getDefaultRegistry().register(new PoolServers());
  }

  /** A channel to whichever of them serves. */
  static NettyChannelBuilder channelTo(PoolAddress pool) {
    return NettyChannelBuilder.forTarget(
            SCHEME + ":///" + URLEncoder.encode(pool.toString(), StandardCharsets.UTF_8))
        .setNameResolverArg(TURN, new AtomicInteger());
  }

  @Override
  protected boolean isAvailable() {
    return true;
  }

  @Override
  protected int priority() {
    return PRIORITY;
  }

  @Override
  public String getDefaultScheme() {
    return SCHEME;
  }

  @Override
  public Collection<Class<? extends SocketAddress>> getProducedSocketAddressTypes() {
    return Set.of(InetSocketAddress.class);
  }

  @Override
  public NameResolver newNameResolver(URI target, NameResolver.Args args) {
    String text = URLDecoder.decode(target.getRawPath().substring(1), StandardCharsets.UTF_8);
    return new Resolver(PoolAddress.parse(text), args);
  }

  /** Looks the hosts up, each time that gRPC asks. */
  private static final class Resolver extends NameResolver {
    private final PoolAddress pool;
    private final Args args;
    private final AtomicInteger turn;
    private @Nullable Listener2 listener;

    Resolver(PoolAddress pool, Args args) {
      this.pool = pool;
      this.args = args;
      turn = Optional.ofNullable(args.getArg(TURN)).orElseGet(AtomicInteger::new);
    }

    @Override
    public String getServiceAuthority() {
      return pool.host();
    }

    @Override
    public void start(Listener2 told) {
      listener = told;
      refresh();
    }

    @Override
    public void refresh() {
      Listener2 told = Objects.requireNonNull(listener, "refreshed before its start");
      Thread.startVirtualThread(() -> {
        ResolutionResult result = resolve();
        args.getSynchronizationContext()
            .execute(() -> {
              Status ignored = told.onResult2(result);
            });
      });
    }

    private ResolutionResult resolve() {
      List<EquivalentAddressGroup> groups = new ArrayList<>();
      // A channel that looks again has lost or left the first server.
      List<PoolAddress> servers = pool.servers();
      Collections.rotate(servers, -(turn.getAndIncrement() % servers.size()));
      for (PoolAddress server : servers) {
        try {
          for (InetAddress address : InetAddress.getAllByName(server.host())) {
            groups.add(
                new EquivalentAddressGroup(
                    new InetSocketAddress(address, server.port()),
                    Attributes.newBuilder()
                        .set(EquivalentAddressGroup.ATTR_AUTHORITY_OVERRIDE, server.host())
                        .build()));
          }
        } catch (UnknownHostException e) {
          // The others may have addresses.
        }
      }
      return ResolutionResult.newBuilder()
          .setAddressesOrError(
              groups.isEmpty()
                  ? StatusOr.fromStatus(
                      Status.UNAVAILABLE.withDescription(
                          "none of the hosts of " + pool + " has an address here"))
                  : StatusOr.fromValue(groups))
          .build();
    }

    @Override
    public void shutdown() {}
  }
}
