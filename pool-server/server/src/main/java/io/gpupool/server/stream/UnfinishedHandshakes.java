// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.stream;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.netty.channel.Channel;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The connections of one listener with an unfinished handshake. Their number is limited: one too
 * many displaces the oldest, so that silent strangers cannot keep programs out. For any thread.
 */
final class UnfinishedHandshakes {
  static final int MOST = 512;

  @GuardedBy("this")
  private final Set<Channel> channels = new LinkedHashSet<>();

  synchronized void begin(Channel channel) {
    channels.add(channel);
    if (channels.size() > MOST) {
      Channel oldest = channels.iterator().next();
      channels.remove(oldest);
      oldest.close();
    }
  }

  synchronized void finish(Channel channel) {
    channels.remove(channel);
  }

  synchronized void close() {
    Set.copyOf(channels).forEach(Channel::close);
  }
}
