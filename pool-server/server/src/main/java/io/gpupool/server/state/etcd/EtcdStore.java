// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state.etcd;

import io.gpupool.server.state.Change;
import io.gpupool.server.state.Commit;
import io.gpupool.server.state.Condition;
import io.gpupool.server.state.Entry;
import io.gpupool.server.state.Listing;
import io.gpupool.server.state.StateException;
import io.gpupool.server.state.StateStore;
import io.gpupool.server.state.Write;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** The state of a pool of several servers, in etcd, with a full copy here. */
public final class EtcdStore implements StateStore {
  private static final long SEEN_MILLIS = 1000;
  private static final int LOOKS = 10;

  /** Etcd may be choosing a leader, or be starting itself. */
  private static final Duration START = Duration.ofSeconds(30);

  private final EtcdClient client;
  private final Replica replica = new Replica();
  private final Presence presence;
  private final Follower follower;
  private final Committer committer;

  private EtcdStore(EtcdClient client, EtcdOptions options, String server) {
    this.client = client;
    Keys keys = new Keys(options.prefix());
    presence = new Presence(client, keys, server, options.ttlSeconds());
    follower = new Follower(client, keys, replica);
    committer = new Committer(client, keys, presence, server);
  }

  /**
   * Becomes a server of the pool and reads what there is. Blocks until a majority of etcd answers.
   *
   * @param server its name, which no other has
   * @throws StateException if etcd cannot be reached, or another server of that name lives
   */
  public static EtcdStore open(EtcdOptions options, String server) throws StateException {
    return open(options, server, START);
  }

  static EtcdStore open(EtcdOptions options, String server, Duration patience)
      throws StateException {
    EtcdClient client = new EtcdClient(options);
    EtcdStore store = new EtcdStore(client, options, server);
    try {
      store.presence.start(patience);
      store.follower.readAll();
      store.follower.start();
      return store;
    } catch (StateException e) {
      store.close();
      throw e;
    } catch (StatusRuntimeException e) {
      store.close();
      throw new StateException(client.describe(e), e);
    }
  }

  @Override
  public Optional<Entry> get(String key) {
    return replica.get(key);
  }

  @Override
  public Listing read(String prefix) {
    return replica.read(prefix);
  }

  @Override
  public Commit commit(List<Condition> conditions, List<Write> writes) throws StateException {
    synchronized (committer) {
      return switch (committer.commit(conditions, writes)) {
        case Committer.Outcome.Done(long revision) -> {
          // Done is done, even if it is not seen here yet.
          boolean ignored = catchUp(() -> replica.await(revision, SEEN_MILLIS));
          yield new Commit.Done(revision);
        }
        case Committer.Outcome.Conflict(Condition broken) -> {
          if (!catchUp(() -> replica.awaitOther(broken, SEEN_MILLIS))) {
            throw new StateException("etcd answers, but tells no changes; see to its members");
          }
          yield new Commit.Conflict(broken.key());
        }
      };
    }
  }

  private interface Look {
    boolean sees() throws InterruptedException;
  }

  /** Waits for the replica; where the watch tells nothing, another is begun and all is read. */
  private boolean catchUp(Look look) {
    try {
      for (int i = 0; i < LOOKS; i++) {
        if (look.sees()) {
          return true;
        }
        follower.startAgain();
        try {
          follower.readAll();
        } catch (StatusRuntimeException e) {
          // The next look tells.
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return false;
  }

  @Override
  public Listing watch(String prefix, Consumer<List<Change>> listener) {
    return replica.watch(prefix, listener);
  }

  @Override
  public Optional<String> trouble() {
    return presence.trouble();
  }

  @Override
  public void close() {
    replica.forgetWatchers();
    follower.close();
    presence.close();
    client.close();
  }
}
