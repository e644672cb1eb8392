// SPDX-License-Identifier: Apache-2.0
package io.gpupool.runtime;

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
import java.util.List;
import java.util.Optional;

/**
 * Configuration of logs: to standard error, from the level that {@code GPUPOOL_LOG} names and in
 * the form that {@code GPUPOOL_LOG_FORMAT} names. It is code because reading a file would double
 * the time that a command takes to start.
 */
public class LogConfiguration extends ContextAwareBase implements Configurator {
  private static final String LEVEL = "gpupool.log.default";
  private static final String FORMAT = "gpupool.log.format";

  /** Sets the form of lines, {@code text} or {@code json}; must come before the first log line. */
  public static void setFormat(String format) {
    System.setProperty(FORMAT, format);
  }

  /** Has services log what they do; must come before the first log line. */
  public static void forService() {
    System.setProperty(LEVEL, "info");
  }

  /** The level of gpupool's own logs where {@code GPUPOOL_LOG} names none. */
  protected Level defaultLevel() {
    return Level.toLevel(System.getProperty(LEVEL, "warn"));
  }

  /** Loggers of libraries whose warnings help nobody. */
  protected List<String> quietLoggers() {
    return List.of();
  }

  @Override
  public final ExecutionStatus configure(LoggerContext context) {
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
    Level level = defaultLevel();
    context
        .getLogger("io.gpupool")
        .setLevel(
            Optional.ofNullable(System.getenv("GPUPOOL_LOG"))
                .map(text -> Level.toLevel(text, level))
                .orElse(level));
    quietLoggers().forEach(name -> context.getLogger(name).setLevel(Level.ERROR));
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
    String named =
        Optional.ofNullable(System.getenv("GPUPOOL_LOG_FORMAT"))
            .filter(text -> !text.isBlank())
            .orElse("");
    return System.getProperty(FORMAT, named).equals("json");
  }
}
