// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ArrayOps;
import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CallbackOps;
import io.gpupool.cuda.CollectiveOps;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.DownloadOps;
import io.gpupool.cuda.FenceOps;
import io.gpupool.cuda.GraphOps;
import io.gpupool.cuda.GreenOps;
import io.gpupool.cuda.HostMemoryOps;
import io.gpupool.cuda.JitLinkOps;
import io.gpupool.cuda.LaunchOps;
import io.gpupool.cuda.MemoryOps;
import io.gpupool.cuda.MirrorOps;
import io.gpupool.cuda.ModuleOps;
import io.gpupool.cuda.OpEffect;
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
import io.gpupool.cuda.UploadOps;
import io.gpupool.cuda.VirtualMemoryOps;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.call.StreamFrees;
import io.gpupool.worker.session.call.Waits;
import io.gpupool.worker.session.collective.Communicators;
import io.gpupool.worker.session.context.Contexts;
import io.gpupool.worker.session.context.GreenContexts;
import io.gpupool.worker.session.context.Peers;
import io.gpupool.worker.session.context.ReleaseLimit;
import io.gpupool.worker.session.copy.Downloads;
import io.gpupool.worker.session.copy.Mirrors;
import io.gpupool.worker.session.copy.StagingBlocks;
import io.gpupool.worker.session.copy.Uploads;
import io.gpupool.worker.session.core.Answers;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.HandleTables;
import io.gpupool.worker.session.exchange.Exports;
import io.gpupool.worker.session.graph.Graphs;
import io.gpupool.worker.session.graph.Launches;
import io.gpupool.worker.session.journal.Journal;
import io.gpupool.worker.session.memory.Allocations;
import io.gpupool.worker.session.memory.DeviceMemory;
import io.gpupool.worker.session.memory.MemoryPools;
import io.gpupool.worker.session.memory.SharedHostMemory;
import io.gpupool.worker.session.memory.Sharing;
import io.gpupool.worker.session.memory.VirtualMemory;
import io.gpupool.worker.session.module.ImageCache;
import io.gpupool.worker.session.module.Images;
import io.gpupool.worker.session.module.JitLinker;
import io.gpupool.worker.session.module.Modules;
import io.gpupool.worker.session.peer.CrossServerFences;
import io.gpupool.worker.session.quota.DriverOverhead;
import io.gpupool.worker.session.quota.FirstLaunches;
import io.gpupool.worker.session.quota.MemoryQuota;
import io.gpupool.worker.session.quota.OwnedMemory;
import io.gpupool.worker.session.stream.BlockingCalls;
import io.gpupool.worker.session.stream.HostCallbacks;
import io.gpupool.worker.session.stream.Streams;
import io.gpupool.worker.session.texture.CudaArrays;
import io.gpupool.worker.session.texture.References;
import io.gpupool.worker.session.texture.TensorMaps;
import io.gpupool.worker.session.texture.Textures;
import java.util.List;
import java.util.function.Consumer;

/**
 * The parts of a session that execute its ops, one a topic. It tells them when a context ends. Used
 * by the session's thread alone.
 */
final class SessionCalls implements SessionTopics, SessionOps {
  private final Contexts contexts;
  private final Journal journal = new Journal();
  private final Exports exports;
  private final MemoryQuota quota;

  /** The op being executed. */
  int op;

  private final Backend backend;
  private final CurrentCall call;
  private final HandleTables handles = new HandleTables();
  private final Answers answers;
  private final Waits waits;
  private final OwnedMemory owned;
  private final DriverOverhead overhead;
  private final Allocations allocations;
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
  private final SharedHostMemory hostMemory;
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
  private final Communicators communicators;

  /**
   * Makes the parts.
   *
   * @param devices the backend's CUdevice of each GPU of the lease
   * @param input the receiving end of the call stream
   * @param abort ends the session from any thread, for this reason
   */
  SessionCalls(
      Backend backend,
      SessionPlan plan,
      List<Integer> devices,
      Answers answers,
      Waits waits,
      SessionThreads threads,
      Receiver input,
      Consumer<String> abort) {
    this.backend = backend;
    this.answers = answers;
    this.waits = waits;
    call = new CurrentCall(answers, waits, ContextState.none(backend));
    owned = new OwnedMemory(backend);
    exports = new Exports(plan.others().exchange());
    overhead = new DriverOverhead(backend, plan.ledger(), plan.gpus());
    quota =
        new MemoryQuota(plan.ledger(), overhead, backend, call, waits, answers, input::readAhead);
    FirstLaunches firstLaunches = new FirstLaunches(backend, quota);
    StreamFrees frees = new StreamFrees(backend, call, handles, answers, waits);
    callbacks = new HostCallbacks(backend, call, handles, answers, waits, threads.callbackSender());
    blocking =
        new BlockingCalls(
            backend, call, answers, waits, threads.waiting(), callbacks, input::readAhead);
    ReleaseLimit limit = new ReleaseLimit(abort);
    ContextEnds ends = new ContextEnds();
    contexts = new Contexts(backend, call, answers, quota, devices, blocking, limit, ends);
    greens = new GreenContexts(backend, call, contexts, devices);
    peers = new Peers(backend, call, contexts, devices);
    images = new Images(call, plan.ledger(), new ImageCache(plan.images()));
    modules = new Modules(backend, call, handles, owned, quota, firstLaunches, blocking, images);
    links = new JitLinker(backend, call, images);
    pools = new MemoryPools(backend, call, quota, exports, devices);
    allocations = new Allocations(backend, quota, owned, exports, blocking, pools);
    memory = new DeviceMemory(backend, call, handles, quota, frees, blocking, pools, allocations);
    virtual = new VirtualMemory(backend, call, owned, quota, exports, devices);
    sharing = new Sharing(backend, call, handles, owned, exports, allocations, pools, blocking);
    StagingBlocks blocks = new StagingBlocks(callbacks);
    uploads = new Uploads(backend, call, handles, answers, waits, owned, blocks);
    mirrors =
        new Mirrors(backend, call, handles, answers, threads.waiting(), owned, uploads, contexts);
    downloads =
        new Downloads(backend, call, handles, answers, waits, threads.waiting(), owned, blocks);
    hostMemory =
        new SharedHostMemory(backend, call, handles, owned, blocking, input::takeDescriptor);
    streams = new Streams(backend, call, handles, answers, waits, owned, exports);
    launches = new Launches(backend, call, handles, owned, firstLaunches);
    arrays = new CudaArrays(backend, call, handles, quota, blocking);
    textures = new Textures(backend, call, handles, owned);
    tensorMaps = new TensorMaps(backend, call);
    references = new References(backend, call, handles, owned);
    graphs = new Graphs(backend, call, handles, owned, firstLaunches, contexts, blocking, journal);
    tickets =
        new CrossServerFences(backend, call, handles, waits, owned, plan.others().peers(), abort);
    communicators = new Communicators(backend, call, handles, waits, owned, plan.others().ranks());
  }

  /** The parts that know what the session has. */
  SavedParts saved() {
    return new SavedParts(
        journal,
        exports,
        images,
        modules,
        virtual,
        SavedParts.topics(backend, call, handles, contexts, mirrors, quota.credit()));
  }

  /** The question whether its work is done. */
  IdleCheck idle() {
    return new IdleCheck(contexts, streams, quota, waits, callbacks);
  }

  /** The call being executed. */
  CurrentCall call() {
    return call;
  }

  /** The context of the frame being executed. */
  ContextState current() {
    return call.context();
  }

  /** See {@link CurrentCall#fault}. */
  String fault() {
    return call.fault();
  }

  /**
   * Returns the bytes that the driver takes beyond the program's allocations. Any thread may call
   * it.
   */
  long overheadBytes() {
    return overhead.bytes();
  }

  /** Unmaps the memory that calls use; nothing may be inside the backend any more. */
  void release() {
    call.release();
  }

  /** Lets go of memory; the backend's things go down with the process. */
  void close() {
    tickets.close();
    communicators.close();
    callbacks.cancel(null);
    images.release();
    launches.release();
  }

  /** See {@link BlockingCalls#awaitRoom}. */
  void awaitRoom() {
    blocking.awaitRoom();
  }

  /** Returns whether a stream may wait for a host function. Any thread may ask. */
  boolean hasHostFunctions() {
    return callbacks.anyOutstanding();
  }

  /** The connection is gone: nobody will say that host functions have ended. */
  void cancelHostFunctions() {
    callbacks.cancel(null);
  }

  private final class ContextEnds implements Contexts.Listener {
    @Override
    public void ending(ContextState context) {
      journal.endOwned(OpEffect.CONTEXT, context.number);
      SessionCalls.this.ending(context);
    }

    @Override
    public void ended(ContextState context) {
      journal.end(OpEffect.CONTEXT, context.number);
    }
  }

  private void ending(ContextState context) {
    callbacks.cancel(context);
    tickets.cancel(context);
    communicators.forget(context);
    // Its streams may wait, through an event, for a host function of another context.
    blocking.call(() -> {
      backend.cuCtxSetCurrent(context.handle);
      waits.drain(context);
      uploads.drain(context);
      return 0;
    });
    if (!context.isGreen()) {
      context.printed.close();
    }
    answers.copyLent(context.staging);
    context.staging.forget();
    graphs.forget(context);
    links.forget(context);
    modules.forget(context);
    mirrors.forget(context);
    hostMemory.forget(context);
    sharing.forget(context);
    allocations.forget(context);
    arrays.forget(context);
    textures.forget(context);
    handles.streams().removeOwnedBy(context);
    handles.events().removeOwnedBy(context);
  }

  // Services of generated decoding

  @Override
  public long streamHandle(int number) {
    return handles.stream(number);
  }

  @Override
  public long eventHandle(int number) {
    return handles.events().get(number);
  }

  @Override
  public long moduleHandle(int number) {
    return handles.modules().get(number);
  }

  @Override
  public long functionHandle(int number) {
    return handles.functions().get(number);
  }

  @Override
  public long poolHandle(int number) {
    return pools.handle(number);
  }

  @Override
  public long arrayHandle(int number) {
    return handles.arrays().get(number);
  }

  @Override
  public long mipmapHandle(int number) {
    return handles.mipmaps().get(number);
  }

  @Override
  public boolean ownsMemory(
      long address, long pitchBytes, long elements, int elementBytes, long rows) {
    return owned.owns(address, pitchBytes, elements, elementBytes, rows);
  }

  @Override
  public boolean answerDeferred(int tag) {
    // A reset answers for itself what became of the context, a communicator what became of it.
    return op != Ops.ctxResetPrimary
        && op != Ops.communicatorState
        && op != Ops.communicatorError
        && call.answerDeferred(tag);
  }

  @Override
  public long outputs() {
    return call.out();
  }

  @Override
  public int reply(int tag, int result) {
    call.reply(tag, result);
    return 0;
  }

  @Override
  public int reply(int tag, int result, long address, int lengthBytes) {
    call.reply(tag, result, address, lengthBytes);
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
  public Images image() {
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
  public JitLinkOps jitLink() {
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
  public HostMemoryOps hostMemory() {
    return hostMemory;
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
  public FenceOps fence() {
    return tickets;
  }

  @Override
  public CollectiveOps collective() {
    return communicators;
  }
}
