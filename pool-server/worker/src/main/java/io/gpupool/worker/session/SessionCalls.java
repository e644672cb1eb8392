// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ArrayOps;
import io.gpupool.cuda.CallbackOps;
import io.gpupool.cuda.DownloadOps;
import io.gpupool.cuda.GraphOps;
import io.gpupool.cuda.GreenOps;
import io.gpupool.cuda.ImageOps;
import io.gpupool.cuda.LaunchOps;
import io.gpupool.cuda.LinkOps;
import io.gpupool.cuda.MemoryOps;
import io.gpupool.cuda.MirrorOps;
import io.gpupool.cuda.ModuleOps;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.PeerOps;
import io.gpupool.cuda.PoolOps;
import io.gpupool.cuda.ReferenceOps;
import io.gpupool.cuda.SessionOps;
import io.gpupool.cuda.SessionTopics;
import io.gpupool.cuda.ShareOps;
import io.gpupool.cuda.StreamOps;
import io.gpupool.cuda.TensorMapOps;
import io.gpupool.cuda.TextureOps;
import io.gpupool.cuda.TicketOps;
import io.gpupool.cuda.UploadOps;
import io.gpupool.cuda.VirtualMemoryOps;
import io.gpupool.worker.peer.PeerConnections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.function.Consumer;

/**
 * Makes the parts of a session that execute its ops, one a topic, and tells them when a context
 * ends. Used by the session's thread alone.
 */
final class SessionCalls implements SessionTopics, SessionOps {
  private final Contexts contexts;

  /** The op being executed. */
  int op;

  private final SessionState state;
  private final GreenContexts greens;
  private final Peers peers;
  private final Images images;
  private final Modules modules;
  private final JitLinker links;
  private final MemoryPools pools;
  private final DeviceMemory memory;
  private final VirtualMemory virtual;
  private final Sharing sharing;
  private final Uploads uploads;
  private final Mirrors mirrors;
  private final Downloads downloads;
  private final Streams streams;
  private final Launches launches;
  private final CudaArrays arrays;
  private final Textures textures;
  private final TensorMaps tensorMaps;
  private final References references;
  private final Graphs graphs;
  private final HostCallbacks callbacks;
  private final BlockingCalls blocking;
  private final CrossServerFences tickets;

  /**
   * Makes the parts.
   *
   * @param devices the backend's CUdevice of each GPU of the lease
   * @param readAhead see {@link BlockingCalls}
   * @param imageStore where images of earlier sessions are
   * @param abort ends the session from any thread, for this reason
   */
  SessionCalls(
      SessionState state,
      List<Integer> devices,
      ExecutorService callbackSender,
      Runnable readAhead,
      PeerConnections peerConnections,
      ImageStore imageStore,
      Consumer<String> abort) {
    this.state = state;
    callbacks = new HostCallbacks(state, callbackSender);
    blocking = new BlockingCalls(state, callbacks, readAhead);
    contexts = new Contexts(state, devices, blocking, new ReleaseLimit(abort), this::ending);
    greens = new GreenContexts(state, contexts, devices);
    peers = new Peers(state, contexts, devices);
    images = new Images(state, new ImageCache(imageStore));
    modules = new Modules(state, blocking, images);
    links = new JitLinker(state, images);
    pools = new MemoryPools(state, devices);
    memory = new DeviceMemory(state, blocking, pools);
    virtual = new VirtualMemory(state, devices);
    sharing = new Sharing(state, memory, pools, blocking);
    uploads = new Uploads(state, callbacks);
    mirrors = new Mirrors(state, uploads);
    downloads = new Downloads(state, callbacks);
    streams = new Streams(state);
    launches = new Launches(state);
    arrays = new CudaArrays(state, blocking);
    textures = new Textures(state);
    tensorMaps = new TensorMaps(state);
    references = new References(state);
    graphs = new Graphs(state, contexts, blocking);
    tickets = new CrossServerFences(state, peerConnections, abort);
  }

  /** Lets go of memory; the backend's things go down with the process. */
  void close() {
    tickets.close();
    callbacks.cancel(null);
    images.release();
    launches.release();
  }

  /** See {@link BlockingCalls#awaitRoom}. */
  void awaitRoom() {
    blocking.awaitRoom();
  }

  /** Whether a stream may wait for a host function. Any thread may ask. */
  boolean hasHostFunctions() {
    return callbacks.anyOutstanding();
  }

  /** The connection is gone: nobody will say that host functions have ended. */
  void cancelHostFunctions() {
    callbacks.cancel(null);
  }

  private void ending(ContextState context) {
    callbacks.cancel(context);
    tickets.cancel(context);
    // Its streams may wait, through an event, for a host function of another context.
    blocking.call(() -> {
      state.backend.cuCtxSetCurrent(context.handle);
      state.waits.drain(context);
      uploads.drain(context);
      return 0;
    });
    if (!context.isGreen()) {
      context.printed.close();
    }
    context.staging.forget();
    graphs.forget(context);
    links.forget(context);
    modules.forget(context);
    mirrors.forget(context);
    sharing.forget(context);
    memory.forget(context);
    arrays.forget(context);
    textures.forget(context);
    state.streams.removeOwnedBy(context);
    state.events.removeOwnedBy(context);
  }

  // Services of generated decoding

  @Override
  public long streamHandle(int number) {
    return state.stream(number);
  }

  @Override
  public long eventHandle(int number) {
    return state.events.get(number);
  }

  @Override
  public long moduleHandle(int number) {
    return state.modules.get(number);
  }

  @Override
  public long functionHandle(int number) {
    return state.functions.get(number);
  }

  @Override
  public long poolHandle(int number) {
    return pools.handle(number);
  }

  @Override
  public long arrayHandle(int number) {
    return state.arrays.get(number);
  }

  @Override
  public long mipmapHandle(int number) {
    return state.mipmaps.get(number);
  }

  @Override
  public boolean ownsMemory(
      long address, long pitchBytes, long elements, int elementBytes, long rows) {
    return state.owned.owns(address, pitchBytes, elements, elementBytes, rows);
  }

  @Override
  public boolean answerDeferred(int tag) {
    if (op == Ops.ctxResetPrimary) {
      return false;
    }
    int error = state.current.takeError();
    if (error == 0) {
      return false;
    }
    state.answers.reply(tag, error);
    return true;
  }

  @Override
  public long outputs() {
    return state.out();
  }

  @Override
  public int reply(int tag, int result) {
    state.reply(tag, result);
    return 0;
  }

  @Override
  public int reply(int tag, int result, long address, int lengthBytes) {
    state.reply(tag, result, address, lengthBytes);
    return 0;
  }

  @Override
  public int goodbye() {
    return CudaResult.SUCCESS;
  }

  // Topics

  @Override
  public SessionOps session() {
    return this;
  }

  @Override
  public Contexts context() {
    return contexts;
  }

  @Override
  public GreenOps green() {
    return greens;
  }

  @Override
  public PeerOps peer() {
    return peers;
  }

  @Override
  public ImageOps image() {
    return images;
  }

  @Override
  public ModuleOps module() {
    return modules;
  }

  @Override
  public LaunchOps launch() {
    return launches;
  }

  @Override
  public LinkOps link() {
    return links;
  }

  @Override
  public MemoryOps memory() {
    return memory;
  }

  @Override
  public PoolOps pool() {
    return pools;
  }

  @Override
  public UploadOps upload() {
    return uploads;
  }

  @Override
  public DownloadOps download() {
    return downloads;
  }

  @Override
  public VirtualMemoryOps virtualMemory() {
    return virtual;
  }

  @Override
  public ShareOps share() {
    return sharing;
  }

  @Override
  public MirrorOps mirror() {
    return mirrors;
  }

  @Override
  public ArrayOps array() {
    return arrays;
  }

  @Override
  public TextureOps texture() {
    return textures;
  }

  @Override
  public TensorMapOps tensorMap() {
    return tensorMaps;
  }

  @Override
  public ReferenceOps reference() {
    return references;
  }

  @Override
  public StreamOps stream() {
    return streams;
  }

  @Override
  public CallbackOps callback() {
    return callbacks;
  }

  @Override
  public GraphOps graph() {
    return graphs;
  }

  @Override
  public TicketOps ticket() {
    return tickets;
  }
}
