// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import io.gpupool.cuda.ControlOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Builds request frames, good and bad. */
public final class Request {
  private Request() {}

  /** A posted op; fields are longs, or byte arrays and strings for input buffers. */
  public static byte[] posted(int op, int context, Object... fields) {
    return frame(op, context, fields, -1);
  }

  /** A fenced op. */
  public static byte[] fenced(int op, int context, int tag, Object... fields) {
    return frame(op, context, fields, tag);
  }

  /** A launch without attributes. */
  static byte[] simpleLaunch(int op, int context, int function, int stream, Object... parameters) {
    return launch(op, context, function, stream, new int[] {1, 1, 1, 32, 1, 1}, 0, parameters);
  }

  static byte[] launch(
      int op,
      int context,
      int function,
      int stream,
      int[] gridAndBlock,
      int flags,
      Object... parameters) {
    ByteBuffer packed = ByteBuffer.allocate(256).order(ByteOrder.LITTLE_ENDIAN);
    for (Object parameter : parameters) {
      if (parameter instanceof Long address) {
        packed.position((packed.position() + 7) & -8).putLong(address);
      } else {
        packed.putInt((Integer) parameter);
      }
    }
    int bytes = packed.position();
    ByteBuffer frame = ByteBuffer.allocate(56 + ((bytes + 7) & -8)).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(frame.capacity()).putShort((short) op).putShort((short) context);
    frame.putInt(function).putInt(stream);
    for (int dimension : gridAndBlock) {
      frame.putInt(dimension);
    }
    frame.putInt(0).putInt(flags).putInt(bytes).putInt(0);
    frame.put(packed.array(), 0, bytes);
    return frame.array();
  }

  /** Tells up to where the client has the answers. */
  static byte[] acknowledge(long received, boolean wanted) {
    return ByteBuffer.allocate(24)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(24)
        .putShort((short) ControlOp.ACKNOWLEDGE)
        .putShort((short) 0)
        .putLong(received)
        .putInt(wanted ? 1 : 0)
        .putInt(0)
        .array();
  }

  /** The first frame of a later connection. */
  static byte[] resume(long received) {
    return ByteBuffer.allocate(16)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(16)
        .putShort((short) ControlOp.RESUME)
        .putShort((short) 0)
        .putLong(received)
        .array();
  }

  /** One after the other. */
  static byte[] all(byte[]... frames) {
    int length = Arrays.stream(frames).mapToInt(frame -> frame.length).sum();
    ByteBuffer joined = ByteBuffer.allocate(length);
    for (byte[] frame : frames) {
      joined.put(frame);
    }
    return joined.array();
  }

  private static byte[] frame(int op, int context, Object[] fields, int tag) {
    int length = 8 + (tag >= 0 ? 8 : 0) + 8 * fields.length;
    for (Object field : fields) {
      length += field instanceof Number ? 0 : (bytes(field).length + 7) & -8;
    }
    ByteBuffer frame = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    frame.putInt(length).putShort((short) op).putShort((short) context);
    if (tag >= 0) {
      frame.putInt(tag).putInt(0);
    }
    for (Object field : fields) {
      frame.putLong(field instanceof Number n ? n.longValue() : bytes(field).length);
    }
    for (Object field : fields) {
      if (!(field instanceof Number)) {
        frame.put(bytes(field)).position((frame.position() + 7) & -8);
      }
    }
    return frame.array();
  }

  private static byte[] bytes(Object field) {
    return field instanceof String text ? text.getBytes(StandardCharsets.UTF_8) : (byte[]) field;
  }
}
