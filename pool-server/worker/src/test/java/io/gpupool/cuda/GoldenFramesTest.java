// SPDX-License-Identifier: Apache-2.0
package io.gpupool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.contract.Contract;
import io.gpupool.contract.EntryPoint;
import io.gpupool.contract.Field;
import io.gpupool.contract.Op;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The golden frame of each op, decoded. The shim's test encodes the same frames; an argument
 * follows from the place of its field.
 */
class GoldenFramesTest {
  private static final Path CONTRACT = Path.of("../../protocol/contract/src/main/contract");
  private static final Path GOLDEN = Path.of("../../protocol/contract/src/test/golden/frames.txt");
  private static final String BUFFER = "golden bytes of a buffer";
  private static final int TAG = 0x5a;
  private static final int MEMORY_BYTES = 8192;

  private final long memory = Posix.map(MEMORY_BYTES);
  private final long outputs = memory + MEMORY_BYTES / 2;
  private final List<Object> decoded = new ArrayList<>();
  private @Nullable String called;

  static Stream<Op> ops() throws IOException {
    return Contract.read(CONTRACT).ops().stream().filter(op -> !op.raw());
  }

  @ParameterizedTest
  @MethodSource("ops")
  void goldenFrame_decoded_givesTheArgumentsThatWereEncoded(Op op) throws IOException {
    byte[] frame = frame(op);
    Memory.put(memory, frame, frame.length);
    Dispatcher dispatcher = new Dispatcher(proxy(Backend.class), proxy(SessionTopics.class));

    assertThat(dispatcher.dispatch(op.number(), memory, frame.length)).isZero();

    assertThat(called).isEqualTo(op.name());
    assertThat(decoded).isEqualTo(expected(op));
    Posix.unmap(memory, MEMORY_BYTES);
  }

  private static byte[] frame(Op op) throws IOException {
    Map<String, String> golden =
        Files.readAllLines(GOLDEN).stream()
            .map(line -> line.split(" "))
            .collect(Collectors.toMap(words -> words[0], words -> words[1]));
    byte[] frame =
        HexFormat.of().parseHex(Objects.requireNonNull(golden.get(op.name())).replace('.', '0'));
    if (op.fenced()) {
      frame[RequestHeader.BYTES] = TAG;
    }
    return frame;
  }

  private List<Object> expected(Op op) {
    List<Object> arguments = new ArrayList<>();
    if (op.fenced() && op.entryPoint() == null) {
      arguments.add((long) TAG);
    }
    for (int i = 0; i < op.fields().size(); i++) {
      Field field = op.fields().get(i);
      Object value = field.role() == Field.Role.OUT ? output(op, field, i) : input(field.type(), i);
      arguments.add(op.entryPoint() == null ? value : narrowed(op.entryPoint(), i, value));
    }
    return arguments;
  }

  private Object output(Op op, Field field, int index) {
    if (op.entryPoint() != null) {
      long before =
          op.fields().subList(0, index).stream().filter(GoldenFramesTest::isOutput).count();
      return outputs + Long.BYTES * before;
    }
    return field.type() == Field.Type.BYTES ? (Object) (64L + index) : (Object) true;
  }

  private static boolean isOutput(Field field) {
    return field.role() == Field.Role.OUT;
  }

  private static Object input(Field.Type type, int index) {
    return switch (type) {
      case DATA, TEXT, STRUCT -> BUFFER.substring(0, 3 + index);
      case U32 -> 0x01020300L + index;
      case I32 -> -1L - index;
      case U64 -> 0x0102030405060700L + index;
      case F32 -> index + 0.5f;
      default -> 16L + index;
    };
  }

  /** The value as a parameter narrower than its slot takes it. */
  private static Object narrowed(EntryPoint entryPoint, int index, Object value) {
    return switch (entryPoint.parameters().get(index).type()) {
      case "unsigned char" -> (Long) value & 0xff;
      case "unsigned short" -> (Long) value & 0xffff;
      default -> value;
    };
  }

  private <T> T proxy(Class<T> type) {
    InvocationHandler handler =
        (self, method, arguments) -> {
          Class<?> result = method.getReturnType();
          if (result.isInterface()) {
            return proxy(result);
          }
          if (method.getDeclaringClass() == SessionServices.class) {
            return service(method.getName(), arguments);
          }
          called = method.getName();
          for (int i = 0; arguments != null && i < arguments.length; i++) {
            i += decode(arguments, i);
          }
          return result == int.class ? (Object) 0 : null;
        };
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
  }

  private Object service(String name, Object[] arguments) {
    return switch (name) {
      case "answerDeferred" -> false;
      case "ownsMemory" -> true;
      case "outputs" -> outputs;
      case "reply" -> 0;
      default -> ((Integer) arguments[0]).longValue();
    };
  }

  /** Adds an argument as {@link #expected} has it; returns how many more it took. */
  private int decode(Object[] arguments, int index) {
    Object argument = arguments[index];
    if (argument instanceof Record group) {
      for (RecordComponent component : group.getClass().getRecordComponents()) {
        try {
          decoded.add(((Number) component.getAccessor().invoke(group)).longValue());
        } catch (ReflectiveOperationException e) {
          throw new AssertionError(e);
        }
      }
      return 0;
    }
    if (argument instanceof WireStruct struct) {
      decoded.add(new String(struct.bytes(0, (int) struct.lengthBytes()), StandardCharsets.UTF_8));
      return 0;
    }
    if (argument instanceof Long address && address > memory && address < outputs) {
      decoded.add(Memory.text(address, ((Long) arguments[index + 1]).intValue()));
      return 1;
    }
    decoded.add(argument instanceof Integer number ? (Object) number.longValue() : argument);
    return 0;
  }
}
