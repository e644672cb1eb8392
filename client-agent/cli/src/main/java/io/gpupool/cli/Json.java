// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cli;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import java.util.List;
import java.util.stream.Collectors;

/** Answers of the pool as JSON, as protobuf maps them. */
public final class Json {
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().alwaysPrintFieldsWithNoPresence();

  private Json() {}

  public static String of(Message message) {
    try {
      return PRINTER.print(message);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  public static String of(List<? extends Message> messages) {
    return messages.stream().map(Json::of).collect(Collectors.joining(",\n", "[", "]"));
  }
}
