// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.collective;

import io.gpupool.cuda.CollectiveKind;
import java.util.ArrayDeque;
import java.util.List;

/**
 * The transfers of a group, at the same time: what is sent is handed over before anything is
 * received. Those between the same two ranks pair in their order.
 */
final class Transfers {
  private final Links links;
  private final RankGpu gpu;

  /** To this rank itself. */
  private final ArrayDeque<CollectiveCall> own = new ArrayDeque<>();

  Transfers(Links links, RankGpu gpu) {
    this.links = links;
    this.gpu = gpu;
  }

  void run(List<CollectiveCall> group) throws ChannelException {
    own.clear();
    for (CollectiveCall call : group) {
      if (call.kind() == CollectiveKind.SEND) {
        send(call);
      }
    }
    for (CollectiveCall call : group) {
      if (call.kind() == CollectiveKind.RECEIVE) {
        receive(call);
      }
    }
    if (!own.isEmpty()) {
      throw unmatched();
    }
    links.flush();
  }

  private void send(CollectiveCall call) throws ChannelException {
    if (call.peer() == links.rank) {
      own.add(call);
    } else {
      links.to(call.peer()).send(call.send(), call.bytes());
    }
  }

  private void receive(CollectiveCall call) throws ChannelException {
    if (call.peer() != links.rank) {
      links.from(call.peer()).receive(call.receive(), call.bytes());
      return;
    }
    CollectiveCall sent = own.poll();
    if (sent == null || sent.bytes() != call.bytes()) {
      throw unmatched();
    }
    gpu.copy(sent.send(), call.receive(), call.bytes());
  }

  private static ChannelException unmatched() {
    return new ChannelException("a rank does not receive from itself what it sends to itself");
  }
}
