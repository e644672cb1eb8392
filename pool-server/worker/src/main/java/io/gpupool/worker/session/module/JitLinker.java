// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.module;

import io.gpupool.cuda.Backend;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.JitLinkOps;
import io.gpupool.cuda.WireStruct;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.session.call.CurrentCall;
import io.gpupool.worker.session.core.ContextState;
import io.gpupool.worker.session.core.Payload;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Linker of the code that the client links at run time. Used by the session's thread alone. */
public final class JitLinker implements JitLinkOps {
  private static final int MAX_LINKS = 1024;
  private static final int MAX_NAME_BYTES = 4096;
  private static final long MAX_PIECE_BYTES = 512 << 10;

  private final Backend backend;
  private final CurrentCall call;
  private final Images images;
  private final Map<Integer, Link> links = new HashMap<>();

  /** A CUlinkState of the backend, and the memory that it writes into as long as it lives. */
  private static final class Link {
    final ContextState context;
    final Arena arena = Arena.ofConfined();
    final LogBuffer info;
    final LogBuffer error;
    long handle;
    long output;
    long outputBytes;

    Link(ContextState context, long infoBytes, long errorBytes) {
      this.context = context;
      info = new LogBuffer(arena, infoBytes);
      error = new LogBuffer(arena, errorBytes);
    }
  }

  public JitLinker(Backend backend, CurrentCall call, Images images) {
    this.backend = backend;
    this.call = call;
    this.images = images;
  }

  @Override
  public void linkCreate(int tag, int number, WireStruct options, int infoBytes, int errorBytes) {
    int refused = call.context().exists() ? CudaResult.SUCCESS : CudaResult.INVALID_CONTEXT;
    if (refused == 0 && links.containsKey(number)) {
      refused = CudaResult.INVALID_VALUE;
    }
    if (refused == 0 && links.size() == MAX_LINKS) {
      refused = CudaResult.OUT_OF_MEMORY;
    }
    if (refused != 0) {
      call.reply(tag, refused);
      return;
    }
    Link link = new Link(call.context(), infoBytes, errorBytes);
    JitOptions jit = new JitOptions(link.arena, options);
    link.info.addTo(jit, true);
    link.error.addTo(jit, false);
    long out = call.out();
    int result = backend.cuLinkCreate_v2(jit.count, jit.keys, jit.values, out);
    if (result == 0) {
      link.handle = Memory.getLong(out);
      links.put(number, link);
    } else {
      link.arena.close();
    }
    call.reply(tag, result);
  }

  /** Adds an image as a part; the logs are told of whatever the result. */
  @Override
  public void linkAdd(
      int tag,
      int number,
      int type,
      int image,
      long name,
      long nameBytes,
      WireStruct options,
      long infoCapacityBytes,
      long errorCapacityBytes) {
    Link link = links.get(number);
    long address = images.address(image);
    int result = link == null ? CudaResult.INVALID_HANDLE : CudaResult.SUCCESS;
    if (result == 0 && (address == 0 || nameBytes > MAX_NAME_BYTES)) {
      result = CudaResult.INVALID_VALUE;
    }
    if (result == 0 && !backend.isSoundImage(address, images.lengthBytes(image))) {
      result = CudaResult.INVALID_IMAGE;
    }
    if (link != null && result == 0) {
      try (Arena arena = Arena.ofConfined()) {
        JitOptions jit = new JitOptions(arena, options);
        long text = arena.allocate(nameBytes + 1).address();
        Memory.copy(name, text, nameBytes);
        result =
            backend.cuLinkAddData_v2(
                link.handle,
                type,
                address,
                images.lengthBytes(image),
                text,
                jit.count,
                jit.keys,
                jit.values);
      }
    }
    reply(tag, result, link, infoCapacityBytes > 0, errorCapacityBytes > 0);
  }

  @Override
  public void linkComplete(int tag, int number, long infoCapacityBytes, long errorCapacityBytes) {
    Link link = links.get(number);
    int result = CudaResult.INVALID_HANDLE;
    if (link != null) {
      long out = call.out();
      result = backend.cuLinkComplete(link.handle, out, out + 8);
      if (result == 0) {
        link.output = Memory.getLong(out);
        link.outputBytes = Memory.getLong(out + 8);
      }
    }
    reply(tag, result, link, infoCapacityBytes > 0, errorCapacityBytes > 0);
  }

  /** Gives a piece of the result. */
  @Override
  public void linkRead(int tag, int number, long offset, long capacityBytes) {
    Link link = links.get(number);
    if (link == null || link.output == 0 || offset < 0 || offset > link.outputBytes) {
      call.reply(tag, link == null ? CudaResult.INVALID_HANDLE : CudaResult.INVALID_VALUE);
      return;
    }
    long length =
        Math.min(link.outputBytes - offset, Math.clamp(capacityBytes, 0, MAX_PIECE_BYTES));
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, length + 16);
      payload.variable(capacityBytes > 0, Memory.bytes(link.output + offset, (int) length));
      call.reply(tag, 0, payload.address(), payload.lengthBytes());
    }
  }

  @Override
  public int linkDestroy(int number) {
    Link link = links.remove(number);
    if (link == null) {
      return CudaResult.INVALID_HANDLE;
    }
    int result = backend.cuLinkDestroy(link.handle);
    link.arena.close();
    return result;
  }

  /** The links of a context go down before it does. */
  public void forget(ContextState context) {
    List<Integer> numbers = new ArrayList<>();
    links.forEach((number, link) -> {
      if (link.context == context) {
        numbers.add(number);
      }
    });
    numbers.forEach(this::linkDestroy);
  }

  private void reply(
      int tag, int result, @Nullable Link link, boolean infoWanted, boolean errorWanted) {
    byte[] info = link == null ? new byte[0] : link.info.text();
    byte[] error = link == null ? new byte[0] : link.error.text();
    try (Arena arena = Arena.ofConfined()) {
      Payload payload = new Payload(arena, info.length + error.length + 64L);
      payload.variable(infoWanted, info);
      payload.variable(errorWanted, error);
      call.replyWithLog(tag, result, payload);
    }
  }
}
