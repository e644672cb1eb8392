// SPDX-License-Identifier: Apache-2.0
package io.gpupool.agent.lease;

import io.gpupool.client.connection.PoolRequestException;
import io.gpupool.transport.TextMessageDecoder;
import io.gpupool.wire.TextMessage;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The answer to a program that gets no GPU. */
public final class ProgramRefusal {
  private static final Logger LOG = LoggerFactory.getLogger(ProgramRefusal.class);

  private ProgramRefusal() {}

  /** Tells the program why, and closes its connection. */
  public static void send(Channel program, PoolRequestException refusal) {
    LOG.info("a program is refused: {}", refusal.getMessage());
    program
        .writeAndFlush(
            TextMessageDecoder.encode(
                TextMessage.ofType("refused")
                    .put("cause", refusal.why().wireName())
                    .put("message", refusal.getMessage())
                    .build()))
        .addListener(ChannelFutureListener.CLOSE);
  }
}
