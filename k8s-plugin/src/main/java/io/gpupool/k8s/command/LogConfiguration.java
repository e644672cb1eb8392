// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.command;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.ContextAwareBase;

/**
 * Sends logs to standard error, as loud as {@code GPUPOOL_LOG} says and in the form of {@code
 * GPUPOOL_LOG_FORMAT}. Comes before the gpupool command's own, which is in the same class path.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_TOP_PRIORITY)
public final class LogConfiguration extends ContextAwareBase implements Configurator {
  @Override
  public ExecutionStatus configure(LoggerContext context) {
    Encoder<ILoggingEvent> encoder =
        "json".equals(System.getenv("GPUPOOL_LOG_FORMAT")) ? json() : text();
    encoder.setContext(context);
    encoder.start();
    ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
    appender.setContext(context);
    appender.setTarget("System.err");
    appender.setEncoder(encoder);
    appender.start();
    ch.qos.logback.classic.Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.addAppender(appender);
    root.setLevel(Level.WARN);
    context
        .getLogger("io.gpupool")
        .setLevel(Level.toLevel(System.getenv("GPUPOOL_LOG"), Level.INFO));
    // It warns of a unix socket that gRPC asks it to keep alive, as it does every socket.
    context.getLogger("io.netty.bootstrap").setLevel(Level.ERROR);
    // It tells of each failed try with a stack; ElectionLock tells of the first.
    context.getLogger("io.fabric8.kubernetes.client.extended.leaderelection").setLevel(Level.ERROR);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }

  private static Encoder<ILoggingEvent> text() {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setPattern("%d{HH:mm:ss.SSS} %-5level %logger{0}: %msg%n%rEx");
    return encoder;
  }

  /** One object a line. */
  private static Encoder<ILoggingEvent> json() {
    JsonEncoder encoder = new JsonEncoder();
    encoder.setWithSequenceNumber(false);
    encoder.setWithNanoseconds(false);
    encoder.setWithContext(false);
    encoder.setWithMessage(false);
    encoder.setWithFormattedMessage(true);
    encoder.setWithArguments(false);
    return encoder;
  }
}
