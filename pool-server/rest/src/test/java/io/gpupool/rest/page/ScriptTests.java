// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.page;

import java.io.IOException;
import java.nio.file.Path;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.graalvm.polyglot.Context;
import org.graalvm.polyglot.Engine;
import org.graalvm.polyglot.Source;
import org.graalvm.polyglot.Value;
import org.graalvm.polyglot.io.IOAccess;
import org.graalvm.polyglot.proxy.ProxyExecutable;

/** The tests of one file of tests in JavaScript, in an interpreter of their own. */
final class ScriptTests implements AutoCloseable {
  private static final String MODULE = "application/javascript+module";

  private final Context context;
  private final Value tests;

  ScriptTests(Engine engine, Path file, ZoneId zone) throws IOException {
    context = Context.newBuilder("js").engine(engine).allowIO(IOAccess.ALL).timeZone(zone).build();
    context.eval(Source.newBuilder("js", file.toFile()).mimeType(MODULE).build());
    tests = context.getBindings("js").getMember("tests");
  }

  /** Returns an engine that may interpret without complaining that it does not compile. */
  static Engine engine() {
    return Engine.newBuilder("js")
        .options(Map.of("engine.WarnInterpreterOnly", "false", "js.unhandled-rejections", "none"))
        .build();
  }

  Stream<String> names() {
    return all().map(test -> test.getMember("name").asString());
  }

  /** Runs a test, and throws what it throws or rejects its promise with. */
  void run(String name) {
    Value body =
        all()
            .filter(test -> test.getMember("name").asString().equals(name))
            .findFirst()
            .orElseThrow()
            .getMember("body");
    Value answer = body.execute();
    if (!answer.canInvokeMember("then")) {
      return;
    }
    List<String> outcomes = new ArrayList<>();
    // Promises settle before the interpreter returns.
    answer.invokeMember(
        "then",
        (ProxyExecutable) values -> outcomes.add(""),
        (ProxyExecutable) values -> outcomes.add(String.valueOf(values[0])));
    if (!outcomes.equals(List.of(""))) {
      throw new AssertionError(
          outcomes.isEmpty() ? "the test's promise is not settled" : outcomes.getFirst());
    }
  }

  private Stream<Value> all() {
    return LongStream.range(0, tests.getArraySize()).mapToObj(tests::getArrayElement);
  }

  @Override
  public void close() {
    context.close();
  }
}
