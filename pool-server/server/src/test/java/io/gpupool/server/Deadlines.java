// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.MethodDescriptor;
import java.util.concurrent.TimeUnit;

/** Gives each call of a test a time of its own, in which it must have been answered. */
final class Deadlines implements ClientInterceptor {
  private static final long CALL_SECONDS = 60;

  /** That of a stream ends it, and with it what is leased by it. */
  private static final long STREAM_SECONDS = 600;

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    long seconds =
        method.getType() == MethodDescriptor.MethodType.UNARY ? CALL_SECONDS : STREAM_SECONDS;
    return next.newCall(method, options.withDeadlineAfter(seconds, TimeUnit.SECONDS));
  }
}
