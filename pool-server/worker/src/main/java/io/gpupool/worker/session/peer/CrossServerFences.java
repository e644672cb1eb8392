// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.peer;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.FenceOps;
import io.gpupool.cuda.SessionServices;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.peer.PeerAddress;
import io.gpupool.worker.peer.PeerConnections;
import io.gpupool.worker.peer.PeerException;
import io.gpupool.worker.peer.PeerListener;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTable;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.core.Staging;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.StreamBarriers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The session's part in a program that has sessions on several servers: streams that wait for
 * streams elsewhere, and copies from there. Ops are the session's thread's; what other workers send
 * comes in the threads that read the connections.
 */
public final class CrossServerFences implements FenceOps, PeerListener {
  private static final int MAX_TEXT_BYTES = 1024;
  private static final int MAX_ANNOUNCED = 1 << 20;
  private static final int PARTS_OF_PEER = 3;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles;
  private final OwnedMemory owned;
  private final PeerConnections peers;
  private final Consumer<String> abort;
  private final StreamBarriers gates;
  private final Reads reads;
  private final CrossServerFenceTable table = new CrossServerFenceTable();

  /** Tickets to this server itself that nobody has waited for yet. */
  private final Set<Long> announced = new HashSet<>();

  private final Map<Long, Pull> pulls = new ConcurrentHashMap<>();
  private final Map<Integer, String> lost = new ConcurrentHashMap<>();
  private List<PeerAddress> addresses = List.of();
  private long skipped;

  /**
   * Begins alone.
   *
   * @param abort ends the session, for this reason; any thread
   */
  public CrossServerFences(
      Backend backend,
      CurrentCall call,
      HandleTables handles,
      Waits waits,
      OwnedMemory owned,
      PeerConnections peers,
      Consumer<String> abort) {
    this.backend = backend;
    this.call = call;
    this.handles = handles;
    this.owned = owned;
    this.peers = peers;
    this.abort = abort;
    gates = new StreamBarriers(backend, call, waits);
    reads = new Reads(backend, call, owned, peers);
  }

  /** Says which servers the program has sessions on: three texts each, of at most 16. */
  @Override
  public int connections(int own, long text, long textBytes) {
    List<PeerAddress> all = new ArrayList<>();
    List<String> parts = new ArrayList<>();
    for (long at = text; at < text + textBytes; ) {
      int limit = (int) Math.min(MAX_TEXT_BYTES, text + textBytes - at);
      String part = Memory.text(at, limit);
      at += part.getBytes(StandardCharsets.UTF_8).length + 1L;
      parts.add(part);
      if (parts.size() == PARTS_OF_PEER) {
        all.add(new PeerAddress(parts.get(0), parts.get(1), parts.get(2)));
        parts.clear();
      }
    }
    boolean sound =
        parts.isEmpty() && own >= 0 && own < all.size() && all.size() <= PeerConnections.MAX_LINKS;
    if (!sound || !addresses.isEmpty()) {
      return CudaResult.INVALID_VALUE;
    }
    addresses = List.copyOf(all);
    skipped = Posix.map(Staging.BLOCK_BYTES);
    return peers.introduce(own, addresses, this) ? CudaResult.SUCCESS : CudaResult.INVALID_VALUE;
  }

  @Override
  public int fenceSend(int event, long ticket, int link) {
    if (!isLink(link) || !announce(link, ticket)) {
      return CudaResult.INVALID_VALUE;
    }
    int result = sendWhenComplete(event, ticket, link);
    if (result != 0) {
      // Whoever waits for it must not wait forever.
      send(link, ticket);
    }
    return result;
  }

  private int sendWhenComplete(int event, long ticket, int link) {
    long handle = handles.events().get(event);
    if (handle == SessionServices.NO_HANDLE) {
      return CudaResult.INVALID_HANDLE;
    }
    int result = backend.cuEventQuery(handle);
    if (result != CudaResult.NOT_READY) {
      send(link, ticket);
      return CudaResult.SUCCESS;
    }
    // The program may record its event anew: a stream of its own keeps where it is now.
    ContextState context = (ContextState) handles.events().ownerOf(event);
    ContextState before = call.context();
    backend.cuCtxSetCurrent(context.handle);
    call.select(context);
    long stream = context.spareStreams.take();
    result = stream > 0 ? 0 : (int) -stream;
    if (stream > 0) {
      result = backend.cuStreamWaitEvent(stream, handle, 0);
      if (result == 0) {
        result = gates.mark(stream, () -> send(link, ticket));
      }
      context.spareStreams.give(stream);
    }
    call.select(before);
    backend.cuCtxSetCurrent(before.handle);
    return result;
  }

  @Override
  public int fenceMark(int stream, long ticket, int link) {
    if (!isLink(link) || !announce(link, ticket)) {
      return CudaResult.INVALID_VALUE;
    }
    long handle = handles.stream(stream);
    int result = call.context().exists() ? HandleTable.found(handle) : CudaResult.INVALID_CONTEXT;
    if (result == 0) {
      result = gates.mark(handle, () -> send(link, ticket));
    }
    if (result != 0) {
      send(link, ticket);
    }
    return result;
  }

  @Override
  public int fenceWait(int stream, long ticket, int link) {
    ContextState context = call.context();
    long handle = handles.stream(stream);
    int refused = context.exists() ? HandleTable.found(handle) : CudaResult.INVALID_CONTEXT;
    if (refused != 0 || !isLink(link)) {
      return refused == 0 ? CudaResult.INVALID_VALUE : refused;
    }
    if (!peers.isPeer(link) && !announced.remove(ticket)) {
      // The wait would never end: on one server it is announced before it is waited for.
      return CudaResult.INVALID_VALUE;
    }
    CrossServerFenceTable.Awaited wait = table.await(ticket, ownerOf(stream, context), link);
    if (wait == null) {
      return CudaResult.SUCCESS;
    }
    int result = gates.close(handle, (status, open) -> wait.arrived(open));
    abortIfLost(link);
    return result;
  }

  /**
   * Whose going down ends what waits in a stream: it may be another context than the current one.
   */
  private ContextState ownerOf(int stream, ContextState current) {
    return handles.streams().owner(stream) instanceof ContextState owner ? owner : current;
  }

  @Override
  public int peerAllow(long ticket, int link, long source, long lengthBytes) {
    ContextState context = call.context();
    if (!context.exists() || !peers.isPeer(link) || lengthBytes <= 0) {
      return context.exists() ? CudaResult.INVALID_VALUE : CudaResult.INVALID_CONTEXT;
    }
    try {
      return reads.allow(ticket, context, link, source, lengthBytes);
    } catch (PeerException e) {
      abort.accept(name(link) + ": " + e.getMessage());
      return CudaResult.INVALID_VALUE;
    }
  }

  @Override
  public int peerPull(long ticket, int link, long target, long lengthBytes, int stream) {
    ContextState context = call.context();
    long handle = handles.stream(stream);
    int refused = context.exists() ? HandleTable.found(handle) : CudaResult.INVALID_CONTEXT;
    if (refused != 0 || !peers.isPeer(link) || lengthBytes <= 0) {
      return refused == 0 ? CudaResult.INVALID_VALUE : refused;
    }
    Pull pull = new Pull(context, link, backend, owned, target, lengthBytes, skipped);
    if (pulls.putIfAbsent(ticket, pull) != null) {
      return CudaResult.INVALID_VALUE;
    }
    int result =
        gates.close(
            handle,
            (status, open) -> {
              if (pull.begin(status, open)) {
                peers.pull(link, ticket, lengthBytes);
              } else {
                pulls.remove(ticket);
              }
            });
    if (result != 0) {
      // The stream may still come to where its gate was to be.
      pull.cancel();
      pulls.remove(ticket);
    }
    abortIfLost(link);
    return result;
  }

  @Override
  public void settle(int tag) {
    call.replyComplete(tag, CudaResult.SUCCESS);
  }

  /** Lets the streams of a context that is going down pass. */
  public void cancel(ContextState context) {
    reads.forget(context);
    table.cancel(context);
    pulls.values().stream().filter(pull -> pull.context == context).forEach(Pull::cancel);
    gates.forget(context);
  }

  public void close() {
    peers.close();
    table.cancel(null);
    pulls.values().forEach(Pull::cancel);
  }

  // From other workers

  @Override
  public void ticketCame(int link, long ticket) throws PeerException {
    if (!table.come(ticket, link)) {
      throw new PeerException("a ticket twice, or too many");
    }
  }

  @Override
  public void pullCame(int link, long ticket, long lengthBytes) throws PeerException {
    reads.ask(ticket, link, lengthBytes);
  }

  @Override
  public long place(int link, long ticket, long offset, int lengthBytes) throws PeerException {
    return pull(link, ticket).place(offset, lengthBytes);
  }

  @Override
  public void placed(int link, long ticket, long offset, int lengthBytes) {
    Pull pull = pulls.get(ticket);
    if (pull != null) {
      pull.placed(offset, lengthBytes);
    }
  }

  @Override
  public void pullEnded(int link, long ticket, int result) throws PeerException {
    Pull pull = pull(link, ticket);
    pull.end(result);
    pulls.remove(ticket);
  }

  @Override
  public void lost(int link, String why, boolean malformed) {
    lost.put(link, why);
    if (malformed) {
      abort.accept("the connection to " + name(link) + " is given up: " + why);
    } else {
      abortIfLost(link);
    }
  }

  private Pull pull(int link, long ticket) throws PeerException {
    Pull pull = pulls.get(ticket);
    if (pull == null || pull.link != link) {
      throw new PeerException("bytes that nobody asked for");
    }
    return pull;
  }

  /**
   * A lost connection is the end if something waits for it; else the program may just be ending.
   */
  private void abortIfLost(int link) {
    String why = lost.get(link);
    boolean needed =
        table.awaits(link) || pulls.values().stream().anyMatch(pull -> pull.link == link);
    if (why != null && needed) {
      abort.accept("the connection to " + name(link) + " is lost: " + why);
    }
  }

  private String name(int link) {
    return "the program's GPUs on " + addresses.get(link).address();
  }

  /** Before {@link #links} there is this server alone. */
  private boolean isLink(int link) {
    return link >= 0 && link < Math.max(1, addresses.size());
  }

  /** Takes note of a ticket that goes to this server itself; false if there are too many. */
  private boolean announce(int link, long ticket) {
    if (peers.isPeer(link)) {
      return true;
    }
    return announced.size() < MAX_ANNOUNCED && announced.add(ticket);
  }

  private void send(int link, long ticket) {
    if (peers.isPeer(link)) {
      peers.sendTicket(link, ticket);
    } else {
      boolean ignored = table.come(ticket, link);
    }
  }
}
