// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.Ops;
import io.gpupool.cuda.SessionOps;
import java.util.List;
import java.util.concurrent.ExecutorService;

/** Hands each op to the part of the session that does it. Used by the session's thread alone. */
final class SessionCalls implements SessionOps {
  final Contexts contexts;

  /** The op being executed. */
  int op;

  private final SessionState state;
  private final Peers peers;
  private final Images images = new Images();
  private final Modules modules;
  private final Links links;
  private final MemoryPools pools;
  private final DeviceMemory memory;
  private final VirtualMemory virtual;
  private final Uploads uploads;
  private final Mirrors mirrors;
  private final Downloads downloads;
  private final Streams streams;
  private final Launches launches;
  private final CudaArrays arrays;
  private final Textures textures;
  private final Graphs graphs;
  private final HostCallbacks callbacks;

  /**
   * Makes the parts.
   *
   * @param devices the backend's CUdevice of each GPU of the lease
   * @param readAhead see {@link BlockingCalls}
   */
  SessionCalls(
      SessionState state,
      List<Integer> devices,
      ExecutorService callbackSender,
      Runnable readAhead) {
    this.state = state;
    contexts = new Contexts(state, devices, this::ending);
    peers = new Peers(state, contexts, devices);
    callbacks = new HostCallbacks(state, callbackSender);
    BlockingCalls blocking = new BlockingCalls(state, callbacks, readAhead);
    modules = new Modules(state, blocking, images);
    links = new Links(state, images);
    pools = new MemoryPools(state, devices);
    memory = new DeviceMemory(state, blocking, pools);
    virtual = new VirtualMemory(state, devices);
    uploads = new Uploads(state, callbacks);
    mirrors = new Mirrors(state, uploads);
    downloads = new Downloads(state, callbacks);
    streams = new Streams(state);
    launches = new Launches(state);
    arrays = new CudaArrays(state, blocking);
    textures = new Textures(state);
    graphs = new Graphs(state, contexts, blocking);
  }

  /** Lets go of memory; the backend's things go down with the process. */
  void close() {
    callbacks.cancel(null);
    images.release();
    launches.release();
  }

  /** The connection is gone: nobody will say that host functions have ended. */
  void cancelHostFunctions() {
    callbacks.cancel(null);
  }

  private void ending(ContextState context) {
    callbacks.cancel(context);
    state.waits.drain(context);
    uploads.drain(context);
    context.staging.forget();
    graphs.forget(context);
    links.forget(context);
    modules.forget(context);
    mirrors.forget(context);
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

  // Session

  @Override
  public int goodbye() {
    return CudaResult.SUCCESS;
  }

  @Override
  public int callbackDone(int callback) {
    return callbacks.done(callback);
  }

  // Contexts

  @Override
  public void ctxRetainPrimary(int tag, int device, int flags) {
    contexts.retainPrimary(tag, device, flags);
  }

  @Override
  public int ctxReleasePrimary(int device) {
    return contexts.releasePrimary(device);
  }

  @Override
  public void ctxResetPrimary(int tag, int device) {
    contexts.resetPrimary(tag, device);
  }

  @Override
  public void ctxCreate(int tag, int device, int flags) {
    contexts.create(tag, device, flags);
  }

  @Override
  public int ctxDestroy() {
    return contexts.destroy();
  }

  @Override
  public void ctxSynchronize(int tag) {
    streams.synchronizeContext(tag);
  }

  @Override
  public void ctxSetLimit(int tag, int limit, long value) {
    contexts.setLimit(tag, limit, value);
  }

  @Override
  public void ctxGetLimit(int tag, int limit, boolean valueWanted) {
    contexts.getLimit(tag, limit, valueWanted);
  }

  // Images and modules

  @Override
  public int imageBegin(int image, long lengthBytes) {
    return images.begin(image, lengthBytes);
  }

  @Override
  public int imageData(int image, long dataAddress, long dataBytes) {
    return images.append(image, dataAddress, dataBytes);
  }

  @Override
  public int imageDrop(int image) {
    return images.drop(image);
  }

  @Override
  public void moduleLoad(
      int tag,
      int module,
      int image,
      long optionsAddress,
      long optionsBytes,
      long infoLogCapacityBytes,
      long errorLogCapacityBytes,
      long functionsCapacityBytes) {
    modules.load(
        tag,
        module,
        image,
        optionsAddress,
        optionsBytes,
        infoLogCapacityBytes,
        errorLogCapacityBytes,
        functionsCapacityBytes);
  }

  @Override
  public int moduleUnload(int module) {
    return modules.unload(module);
  }

  @Override
  public int moduleBindFunction(int module, int function, long nameAddress, long nameBytes) {
    return modules.bind(module, function, nameAddress, nameBytes);
  }

  @Override
  public void moduleGetFunction(
      int tag,
      int module,
      int function,
      long nameAddress,
      long nameBytes,
      long parametersCapacityBytes) {
    modules.getFunction(tag, module, function, nameAddress, nameBytes, parametersCapacityBytes);
  }

  @Override
  public void moduleGetGlobal(
      int tag,
      int module,
      long nameAddress,
      long nameBytes,
      boolean addressWanted,
      boolean lengthBytesWanted) {
    modules.getGlobal(tag, module, nameAddress, nameBytes, addressWanted, lengthBytesWanted);
  }

  @Override
  public void functionGetAttribute(int tag, int function, int attribute, boolean valueWanted) {
    modules.getAttribute(tag, function, attribute, valueWanted);
  }

  @Override
  public int functionSetAttribute(int function, int attribute, int value) {
    return modules.setAttribute(function, attribute, value);
  }

  // Linking

  @Override
  public void linkCreate(
      int tag,
      int link,
      long optionsAddress,
      long optionsBytes,
      int infoLogBytes,
      int errorLogBytes) {
    links.create(tag, link, optionsAddress, optionsBytes, infoLogBytes, errorLogBytes);
  }

  @Override
  public void linkAdd(
      int tag,
      int link,
      int type,
      int image,
      long nameAddress,
      long nameBytes,
      long optionsAddress,
      long optionsBytes,
      long infoLogCapacityBytes,
      long errorLogCapacityBytes) {
    links.add(
        tag,
        link,
        type,
        image,
        nameAddress,
        nameBytes,
        optionsAddress,
        optionsBytes,
        infoLogCapacityBytes > 0,
        errorLogCapacityBytes > 0);
  }

  @Override
  public void linkComplete(
      int tag, int link, long infoLogCapacityBytes, long errorLogCapacityBytes) {
    links.complete(tag, link, infoLogCapacityBytes > 0, errorLogCapacityBytes > 0);
  }

  @Override
  public void linkRead(int tag, int link, long offset, long dataCapacityBytes) {
    links.read(tag, link, offset, dataCapacityBytes);
  }

  @Override
  public int linkDestroy(int link) {
    return links.destroy(link);
  }

  @Override
  public int launch(long frame, int lengthBytes) {
    return launches.launch(frame, lengthBytes);
  }

  // Memory and copies

  @Override
  public void memGetInfo(int tag, boolean freeBytesWanted, boolean totalBytesWanted) {
    memory.info(tag, freeBytesWanted, totalBytesWanted);
  }

  @Override
  public void memAlloc(int tag, long lengthBytes, boolean addressWanted) {
    memory.allocate(tag, lengthBytes);
  }

  @Override
  public void memAllocPitch(
      int tag,
      long widthBytes,
      long height,
      int elementBytes,
      boolean addressWanted,
      boolean pitchBytesWanted) {
    memory.allocatePitch(tag, widthBytes, height, elementBytes);
  }

  @Override
  public int memFree(long address) {
    return memory.free(address);
  }

  @Override
  public void memAllocAsync(
      int tag, long lengthBytes, int pool, int stream, boolean addressWanted) {
    memory.allocateAsync(tag, lengthBytes, pool, stream);
  }

  @Override
  public int memFreeAsync(long address, int stream) {
    return memory.freeAsync(address, stream);
  }

  @Override
  public void poolCreate(int tag, int pool, int device, long maxBytes) {
    pools.create(tag, pool, device, maxBytes);
  }

  @Override
  public int poolDestroy(int pool) {
    return pools.destroy(pool);
  }

  @Override
  public int poolSetAccess(int pool, int device, int flags) {
    return pools.setAccess(pool, device, flags);
  }

  @Override
  public void poolGetAttribute(int tag, int pool, int attribute, boolean valueWanted) {
    pools.getAttribute(tag, pool, attribute, valueWanted);
  }

  @Override
  public int poolSetAttribute(int pool, int attribute, long value) {
    return pools.setAttribute(pool, attribute, value);
  }

  @Override
  public int memcpyHtoD(long destination, int stream, long dataAddress, long dataBytes) {
    return uploads.write(destination, stream, dataAddress, dataBytes);
  }

  @Override
  public void memcpyDtoH(int tag, long source, long lengthBytes, int stream) {
    downloads.read(tag, source, lengthBytes, stream);
  }

  @Override
  public int memcpyDtoHPosted(int copy, long source, long lengthBytes, int stream) {
    return downloads.readPosted(copy, source, lengthBytes, stream);
  }

  // Peers

  @Override
  public void peerAttribute(int tag, int device, int peer, int attribute, boolean valueWanted) {
    peers.attribute(tag, device, peer, attribute);
  }

  @Override
  public void ctxEnablePeer(int tag, int peer) {
    peers.enable(tag, peer);
  }

  @Override
  public void ctxDisablePeer(int tag, int peer) {
    peers.disable(tag, peer);
  }

  // Virtual memory management

  @Override
  public void vmGranularity(int tag, int device, int option, boolean lengthBytesWanted) {
    virtual.granularity(tag, device, option);
  }

  @Override
  public void vmReserve(
      int tag, long lengthBytes, long alignmentBytes, long wanted, boolean addressWanted) {
    virtual.reserve(tag, lengthBytes, alignmentBytes, wanted);
  }

  @Override
  public void vmFree(int tag, long address, long lengthBytes) {
    virtual.free(tag, address, lengthBytes);
  }

  @Override
  public void vmCreate(int tag, int block, int device, long lengthBytes) {
    virtual.create(tag, block, device, lengthBytes);
  }

  @Override
  public int vmRelease(int block) {
    return virtual.release(block);
  }

  @Override
  public void vmRetain(int tag, int block, long address) {
    virtual.retain(tag, block, address);
  }

  @Override
  public void vmMap(int tag, long address, long lengthBytes, long offset, int block) {
    virtual.map(tag, address, lengthBytes, offset, block);
  }

  @Override
  public void vmUnmap(int tag, long address, long lengthBytes) {
    virtual.unmap(tag, address, lengthBytes);
  }

  @Override
  public void vmSetAccess(int tag, long address, long lengthBytes, int device, int flags) {
    virtual.setAccess(tag, address, lengthBytes, device, flags);
  }

  @Override
  public void vmGetAccess(int tag, long address, int device, boolean flagsWanted) {
    virtual.getAccess(tag, address, device);
  }

  // Mirrors

  @Override
  public int mirrorCreate(long address, long lengthBytes, int blockBytes, int zeroed, int stream) {
    return mirrors.create(address, lengthBytes, blockBytes, zeroed != 0, stream);
  }

  @Override
  public int mirrorDrop(long address) {
    return mirrors.drop(address);
  }

  @Override
  public int mirrorWrite(long address, int stream, long dataAddress, long dataBytes) {
    return mirrors.write(address, stream, dataAddress, dataBytes);
  }

  @Override
  public void mirrorRead(int tag, long address, long lengthBytes, long changedCapacityBytes) {
    mirrors.read(tag, address, lengthBytes, changedCapacityBytes);
  }

  private Box.Side side(int array, long address, long x, long y, long z, long pitch, long rows) {
    return array == 0
        ? new Box.Side(0, address, 0, 0, 0, pitch, rows)
        : new Box.Side(state.arrays.get(array), 0, x, y, z, 0, 0);
  }

  @Override
  public int boxCopy(
      int toArray,
      long toAddress,
      long toX,
      long toY,
      long toZ,
      long toPitch,
      long toRows,
      int fromArray,
      long fromAddress,
      long fromX,
      long fromY,
      long fromZ,
      long fromPitch,
      long fromRows,
      long width,
      long height,
      long depth,
      int stream) {
    Box.Side to = side(toArray, toAddress, toX, toY, toZ, toPitch, toRows);
    Box.Side from = side(fromArray, fromAddress, fromX, fromY, fromZ, fromPitch, fromRows);
    return uploads.copyBox(to, from, new Box(width, height, depth), stream);
  }

  @Override
  public int boxWrite(
      int array,
      long address,
      long x,
      long y,
      long z,
      long pitch,
      long rows,
      long width,
      long height,
      long depth,
      int stream,
      long dataAddress,
      long dataBytes) {
    Box.Side to = side(array, address, x, y, z, pitch, rows);
    return uploads.writeBox(to, new Box(width, height, depth), stream, dataAddress, dataBytes);
  }

  @Override
  public int boxRead(
      int copy,
      int array,
      long address,
      long x,
      long y,
      long z,
      long pitch,
      long rows,
      long width,
      long height,
      long depth,
      int stream) {
    Box.Side from = side(array, address, x, y, z, pitch, rows);
    return downloads.readBox(copy, from, new Box(width, height, depth), stream);
  }

  // Arrays, textures and surfaces

  @Override
  public void arrayCreate(
      int tag,
      int array,
      long width,
      long height,
      long depth,
      int format,
      int channels,
      int flags) {
    arrays.create(
        tag, array, new CudaArrays.Descriptor(width, height, depth, format, channels, flags));
  }

  @Override
  public int arrayDestroy(int array) {
    return arrays.destroy(array);
  }

  @Override
  public void arrayGetMemory(
      int tag, int array, boolean lengthBytesWanted, boolean alignmentBytesWanted) {
    arrays.memory(tag, array);
  }

  @Override
  public void mipmapCreate(
      int tag,
      int mipmap,
      long width,
      long height,
      long depth,
      int format,
      int channels,
      int flags,
      int levels) {
    arrays.createMipmap(
        tag,
        mipmap,
        new CudaArrays.Descriptor(width, height, depth, format, channels, flags),
        levels);
  }

  @Override
  public int mipmapGetLevel(int mipmap, int level, int array) {
    return arrays.level(mipmap, level, array);
  }

  @Override
  public int mipmapDestroy(int mipmap) {
    return arrays.destroyMipmap(mipmap);
  }

  @Override
  public void mipmapGetMemory(
      int tag, int mipmap, boolean lengthBytesWanted, boolean alignmentBytesWanted) {
    arrays.mipmapMemory(tag, mipmap);
  }

  @Override
  public void textureCreate(
      int tag,
      long resourceAddress,
      long resourceBytes,
      long textureAddress,
      long textureBytes,
      long viewAddress,
      long viewBytes,
      boolean objectWanted) {
    textures.createTexture(
        tag,
        new Textures.Struct(resourceAddress, resourceBytes),
        new Textures.Struct(textureAddress, textureBytes),
        new Textures.Struct(viewAddress, viewBytes));
  }

  @Override
  public int textureDestroy(long object) {
    return textures.destroyTexture(object);
  }

  @Override
  public void surfaceCreate(
      int tag, long resourceAddress, long resourceBytes, boolean objectWanted) {
    textures.createSurface(tag, new Textures.Struct(resourceAddress, resourceBytes));
  }

  @Override
  public int surfaceDestroy(long object) {
    return textures.destroySurface(object);
  }

  // Streams and events

  @Override
  public int streamCreate(int stream, int flags, int priority) {
    return streams.create(stream, flags, priority);
  }

  @Override
  public int streamDestroy(int stream) {
    return streams.destroy(stream);
  }

  @Override
  public void streamQuery(int tag, int stream) {
    streams.query(tag, stream);
  }

  @Override
  public void streamSynchronize(int tag, int stream) {
    streams.synchronize(tag, stream);
  }

  @Override
  public int streamWaitEvent(int stream, int event, int flags) {
    return streams.waitEvent(stream, event, flags);
  }

  @Override
  public int streamMemoryOperations(int stream, long operationsAddress, long operationsBytes) {
    return streams.memoryOperations(stream, operationsAddress, operationsBytes);
  }

  @Override
  public int ctxRecordEvent(int event) {
    return streams.recordContext(event);
  }

  @Override
  public int ctxWaitEvent(int event) {
    return streams.waitContext(event);
  }

  @Override
  public int streamHostFunction(int stream, int callback, int kind) {
    return callbacks.launch(stream, callback, kind);
  }

  @Override
  public int eventCreate(int event, int flags) {
    return streams.createEvent(event, flags);
  }

  @Override
  public int eventDestroy(int event) {
    return streams.destroyEvent(event);
  }

  @Override
  public int eventRecord(int event, int stream, int flags) {
    return streams.record(event, stream, flags);
  }

  @Override
  public void eventQuery(int tag, int event) {
    streams.queryEvent(tag, event);
  }

  @Override
  public void eventSynchronize(int tag, int event) {
    streams.synchronizeEvent(tag, event);
  }

  // Graphs

  @Override
  public int graphCreate(int graph) {
    return graphs.create(graph);
  }

  @Override
  public int graphAddNodes(int graph, long nodesAddress, long nodesBytes) {
    return graphs.addNodes(graph, nodesAddress, nodesBytes);
  }

  @Override
  public void graphInstantiate(
      int tag, int graph, long flags, boolean statusWanted, boolean failedNodeWanted) {
    graphs.instantiate(tag, graph, flags, statusWanted, failedNodeWanted);
  }

  @Override
  public int graphSetNode(int graph, int node, long workAddress, long workBytes) {
    return graphs.setNode(graph, node, workAddress, workBytes);
  }

  @Override
  public int graphSetEnabled(int graph, int node, int enabled) {
    return graphs.setEnabled(graph, node, enabled);
  }

  @Override
  public int graphUpload(int graph, int stream) {
    return graphs.upload(graph, stream);
  }

  @Override
  public int graphLaunch(int graph, int stream) {
    return graphs.launch(graph, stream);
  }

  @Override
  public int graphDestroy(int graph) {
    return graphs.destroy(graph);
  }
}
