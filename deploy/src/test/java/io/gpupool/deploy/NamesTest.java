// SPDX-License-Identifier: Apache-2.0
package io.gpupool.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names of types and methods in the words of docs/reference/glossary.md. */
class NamesTest {
  /** Names that no type may have any more, nested or not. */
  private static final Set<String> FORBIDDEN_TYPES =
      Set.of(
          "Ailment",
          "Ask",
          "Bulletin",
          "Bulletins",
          "CallThreads",
          "DeviceFault",
          "Draft",
          "EndlessKernel",
          "EvenAccesses",
          "GateWork",
          "Gates",
          "GpuTurn",
          "Idleness",
          "KernelFault",
          "LeaseAsk",
          "LeaseAsks",
          "LeaseTerms",
          "LeaseTurns",
          "LeaseWish",
          "NestedTurn",
          "OwnLeases",
          "Partners",
          "PatientStore",
          "PeerLinks",
          "PoolTruth",
          "PreferredSeats",
          "ProgramTurns",
          "RehearsalBackend",
          "RehearsalFrames",
          "Rematerial",
          "Saying",
          "SeatId",
          "SeatPlan",
          "SeatService",
          "SeatStream",
          "Seats",
          "SessionTurn",
          "SharedTurns",
          "Slopes",
          "Tally",
          "TicketTable",
          "TimeTable",
          "TurnBound",
          "TurnPage",
          "TurnPlace",
          "Turns",
          "Videos",
          "Wiring");

  /** Names that no type in these packages may have any more; elsewhere they are the right word. */
  private static final Set<String> FORBIDDEN_QUALIFIED_TYPES =
      Set.of(
          "io.gpupool.agent.Elsewhere",
          "io.gpupool.agent.Refusal",
          "io.gpupool.agent.Ticket",
          "io.gpupool.agent.Use",
          "io.gpupool.agent.Watch",
          "io.gpupool.k8s.command.Term",
          "io.gpupool.k8s.controller.Contact",
          "io.gpupool.k8s.controller.Figures",
          "io.gpupool.k8s.controller.Wanted",
          "io.gpupool.rest.Problem",
          "io.gpupool.rest.call.Refusals",
          "io.gpupool.rest.http.Accepted",
          "io.gpupool.rest.http.Answer",
          "io.gpupool.rest.http.CallerSlots",
          "io.gpupool.rest.resource.Changes",
          "io.gpupool.rest.resource.Place",
          "io.gpupool.server.health.Condition",
          "io.gpupool.server.history.Portion",
          "io.gpupool.server.identity.Actor",
          "io.gpupool.server.identity.Caller",
          "io.gpupool.server.lease.Claim",
          "io.gpupool.server.lease.Elsewhere",
          "io.gpupool.server.lease.Extent",
          "io.gpupool.server.lease.Known",
          "io.gpupool.server.lease.Standing",
          "io.gpupool.server.lease.Turn",
          "io.gpupool.server.lease.Waiting",
          "io.gpupool.server.lease.Wish",
          "io.gpupool.server.oidc.Login",
          "io.gpupool.server.oidc.Logins",
          "io.gpupool.server.records.Ending",
          "io.gpupool.server.records.Kinds",
          "io.gpupool.server.records.Numbers",
          "io.gpupool.server.records.Request",
          "io.gpupool.server.records.Use",
          "io.gpupool.server.sandbox.Wall",
          "io.gpupool.server.session.MemoryRoom",
          "io.gpupool.server.session.OpeningRate",
          "io.gpupool.server.state.Kind",
          "io.gpupool.server.tally.Count",
          "io.gpupool.server.tally.Row",
          "io.gpupool.server.tally.Waits",
          "io.gpupool.server.tenant.Access",
          "io.gpupool.server.tenant.Budgets",
          "io.gpupool.server.tenant.FirstAdmin",
          "io.gpupool.server.tenant.OpenCalls",
          "io.gpupool.server.tenant.WaitingCall",
          "io.gpupool.server.tenant.WrongTokens",
          "io.gpupool.soft.device.Ending",
          "io.gpupool.soft.device.Rows",
          "io.gpupool.worker.session.Box",
          "io.gpupool.worker.session.Links",
          "io.gpupool.worker.session.Tickets");

  private static final Pattern FORBIDDEN_METHOD =
      Pattern.compile(
          "whyNot.*|whyOver.*|.*ThoseOf.*|clearAway.*|sendAway.*|sentAway|heed|letGo|findSoon"
              + "|inTheMaking|areThose.*|isToSeeTo.*");

  private static final Pattern PACKAGE = Pattern.compile("(?m)^package ([\\w.]+);");
  private static final Pattern TYPE =
      Pattern.compile("\\b(?:class|interface|enum|record)\\s+([A-Z]\\w*)(?=[\\s({<])");
  private static final Pattern EXCEPTION =
      Pattern.compile(
          "\\bclass\\s+([A-Z]\\w*)(?:<[^{]*>)?\\s+extends\\s+(?:[\\w.]+\\.)?(?:\\w*Exception)\\b");

  /** A modifier, a type, an array or a type variable before the name; no call has one. */
  private static final Pattern METHOD =
      Pattern.compile(
          "(?<=[\\w>\\]])(?<!\\b(?:new|return|throw|else|yield|case))\\s+(\\w+)\\s*\\(");

  private static final Pattern NOT_CODE =
      Pattern.compile(
          "\"\"\".*?\"\"\"|\"[^\"\\\\\\n]*+(?:\\\\.[^\"\\\\\\n]*+)*+\""
              + "|'[^'\\\\\\n]*+(?:\\\\.[^'\\\\\\n]*+)*+'"
              + "|/\\*.*?\\*/|//[^\\n]*",
          Pattern.DOTALL);

  @Test
  void types_anywhere_haveNoForbiddenName() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path path : javaFiles()) {
      String code = code(path);
      String inPackage = first(PACKAGE, code);
      for (String type : all(TYPE, code)) {
        if (FORBIDDEN_TYPES.contains(type)
            || FORBIDDEN_QUALIFIED_TYPES.contains(inPackage + "." + type)) {
          found.add(path + ": " + type);
        }
      }
    }
    assertThat(found).as("the glossary has the field's word").isEmpty();
  }

  @Test
  void methods_ofMainCode_haveNoForbiddenName() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path path : javaFiles()) {
      if (!path.toString().contains("src/main/")) {
        continue;
      }
      for (String method : all(METHOD, code(path))) {
        if (FORBIDDEN_METHOD.matcher(method).matches()) {
          found.add(path + ": " + method);
        }
      }
    }
    assertThat(found).as("the glossary has the field's word").isEmpty();
  }

  @Test
  void exceptions_anywhere_endInException() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path path : javaFiles()) {
      for (String type : all(EXCEPTION, code(path))) {
        if (!type.endsWith("Exception")) {
          found.add(path + ": " + type);
        }
      }
    }
    assertThat(found).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Optional<String> whyNot(String tenant) {",
        "  void endThoseOf(Token token) {",
        "static boolean[] clearAwayThoseOfTheGone() {"
      })
  void declaration_ofAForbiddenMethod_isFound(String line) {
    assertThat(all(METHOD, line)).anyMatch(FORBIDDEN_METHOD.asMatchPredicate());
  }

  @Test
  void call_ofAForbiddenMethodOfALibrary_isNone() {
    assertThat(all(METHOD, "int a = library.whyNot(1); return whyNot(2); new Foo(3);")).isEmpty();
  }

  private static List<Path> javaFiles() throws IOException {
    return ProjectTree.files().stream().filter(path -> path.toString().endsWith(".java")).toList();
  }

  /** A file without its comments and literals, which may be about anything. */
  private static String code(Path path) throws IOException {
    return NOT_CODE.matcher(Files.readString(ProjectTree.ROOT.resolve(path))).replaceAll(" ");
  }

  private static List<String> all(Pattern pattern, String code) {
    return pattern.matcher(code).results().map(result -> result.group(1)).toList();
  }

  private static String first(Pattern pattern, String code) {
    Matcher matcher = pattern.matcher(code);
    return matcher.find() ? matcher.group(1) : "";
  }
}
