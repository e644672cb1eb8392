// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.util.Optional;

/**
 * Sends logs to standard error, as loud as {@code GPUPOOL_LOG} says; in code, because reading a
 * configuration file would double the time the command takes to start.
 */
public final class LogConfiguration extends ContextAwareBase implements Configurator {
  private static final String LOUD = "gpupool.log.default";
  private static final String FORMAT = "gpupool.log.format";

  /** How lines look: {@code text} or {@code json}; must come before the first log line. */
  public static void setFormat(String format) {
    System.setProperty(FORMAT, format);
  }

  /** Has services log what they do; must come before the first log line. */
  public static void forService() {
    System.setProperty(LOUD, "info");
  }

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    Encoder<ILoggingEvent> encoder = isJson() ? json() : text();
    encoder.setContext(context);
    encoder.start();
    ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
    appender.setContext(context);
    appender.setTarget("System.err");
    appender.setEncoder(encoder);
    appender.start();
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.addAppender(appender);
    root.setLevel(Level.WARN);
    context.getLogger("io.gpupool").setLevel(level());
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }

  private static Encoder<ILoggingEvent> text() {
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setPattern("%d{HH:mm:ss.SSS} %-5level %logger{0}: %msg%n%rEx");
    return encoder;
  }

  /** One object a line, with what the event names, such as its lease, as fields of their own. */
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

  private static boolean isJson() {
    return System.getProperty(FORMAT, Environment.variable("GPUPOOL_LOG_FORMAT").orElse(""))
        .equals("json");
  }

  private static Level level() {
    Level otherwise = Level.toLevel(System.getProperty(LOUD, "warn"));
    return Optional.ofNullable(System.getenv("GPUPOOL_LOG"))
        .map(text -> Level.toLevel(text, otherwise))
        .orElse(otherwise);
  }
}
