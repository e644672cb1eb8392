// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session.exchange;

import io.gpupool.cuda.CudaResult;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The things of this session that other sessions may have, and those that must stay after the
 * program has freed them because another session has them. Used by the session's thread alone.
 */
public final class Exports {
  /** CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR. */
  public static final int DESCRIPTOR = 1;

  /** Memory that nobody else can have. */
  private static final int NO_HANDLE_TYPE = 0;

  private static final int MAX_EXPORTS = 1 << 16;

  private final Exchange exchange;
  private final Map<Key, Token> tokens = new HashMap<>();
  private final Map<Token, Runnable> kept = new HashMap<>();

  /** A shared thing as the session knows it: an address, or a number of the client's. */
  private record Key(Exchange.Kind kind, long id) {}

  public Exports(Exchange exchange) {
    this.exchange = exchange;
  }

  /** Returns whether other sessions have, or may have, something of this one. */
  public boolean isUsed() {
    return !tokens.isEmpty() || !kept.isEmpty();
  }

  /** Returns whether memory can be made for others by handles of this CUmemAllocationHandleType. */
  public static boolean isHandleType(int type) {
    return type == NO_HANDLE_TYPE || type == DESCRIPTOR;
  }

  public Exchange exchange() {
    return exchange;
  }

  /** Under which token it is shared already. */
  public Optional<Token> token(Exchange.Kind kind, long id) {
    return Optional.ofNullable(tokens.get(new Key(kind, id)));
  }

  public Token add(long id, Exchange.Offer offer) throws NotSharedException {
    if (tokens.size() >= MAX_EXPORTS) {
      throw new NotSharedException(CudaResult.OUT_OF_MEMORY, MAX_EXPORTS + " things are shared");
    }
    Token token = exchange.offer(offer);
    tokens.put(new Key(offer.kind(), id), token);
    return token;
  }

  /** As {@link #add}, of what a descriptor alone stands for; closes it. */
  public Token addFile(Exchange.Kind kind, long id, int gpu, long lengthBytes, int descriptor)
      throws NotSharedException {
    try {
      return add(id, new Exchange.Offer(kind, gpu, lengthBytes, descriptor, new byte[0]));
    } finally {
      Posix.close(descriptor);
    }
  }

  /**
   * The program ends something.
   *
   * @param end what is to be done once nobody has it any more
   * @return whether that is now, and the caller's to do
   */
  public boolean withdraw(Exchange.Kind kind, long id, Runnable end) {
    Token token = tokens.isEmpty() ? null : tokens.remove(new Key(kind, id));
    if (token == null || exchange.withdraw(token)) {
      return true;
    }
    kept.put(token, end);
    return false;
  }

  /** Ends what was kept and nobody has any more. */
  public void endReleased() {
    if (!kept.isEmpty()) {
      for (Token token : exchange.released()) {
        Optional.ofNullable(kept.remove(token)).ifPresent(Runnable::run);
      }
    }
  }

  /** Puts a token where outputs go; its length. */
  public static int put(long out, Token token) {
    Memory.putLong(out, token.word0());
    Memory.putLong(out + 8, token.word1());
    Memory.putLong(out + 16, token.word2());
    Memory.putLong(out + 24, token.word3());
    return 4 * Long.BYTES;
  }
}
