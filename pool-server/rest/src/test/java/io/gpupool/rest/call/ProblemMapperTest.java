// SPDX-License-Identifier: Apache-2.0
package io.gpupool.rest.call;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.gpupool.control.v1.Cause;
import io.gpupool.control.v1.Refused;
import io.gpupool.control.v1.RejectionReason;
import io.gpupool.control.v1.RejectionReason.KindCase;
import io.gpupool.json.JsonForm;
import io.gpupool.rejection.RejectionDetail;
import io.gpupool.rejection.RejectionSamples;
import io.gpupool.rest.http.ProblemException;
import io.gpupool.rest.openapi.OpenApi;
import io.gpupool.rest.openapi.Schema;
import io.grpc.Status;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ProblemMapperTest {
  private static final JsonObject DOCUMENT = OpenApi.get().document();

  @ParameterizedTest
  @EnumSource(value = KindCase.class, mode = EnumSource.Mode.EXCLUDE, names = "KIND_NOT_SET")
  void refusal_ofEachKind_isAProblemWithItsFactsAndWithoutWordsOfTheCommandLine(KindCase kind)
      throws Exception {
    RejectionReason reason = RejectionSamples.of(kind);
    JsonObject problem =
        json(
            ProblemMapper.problem(
                Refused.newBuilder().setCause(Cause.CAUSE_NO_MATCH).setReason(reason).build()));
    JsonObject schema =
        DOCUMENT
            .getAsJsonObject("components")
            .getAsJsonObject("schemas")
            .getAsJsonObject("Problem");
    assertThat(new Schema(DOCUMENT, schema).faults(problem)).isEmpty();
    assertThat(problem.get("detail")).isEqualTo(problem.getAsJsonObject("reason").get("message"));
    assertThat(problem.getAsJsonObject("reason").keySet()).hasSize(2);
    assertThat(problem.toString()).doesNotContainPattern(RejectionSamples.COMMAND_LINE);
  }

  @ParameterizedTest
  @CsvSource({
    "CAUSE_INVALID, 422",
    "CAUSE_NO_MATCH, 422",
    "CAUSE_DENIED, 403",
    "CAUSE_NO_CAPACITY, 409",
    "CAUSE_DRAINING, 409",
    "CAUSE_CANCELLED, 409"
  })
  void refusal_ofEachCause_hasItsStatus(Cause cause, int status) {
    assertThat(ProblemMapper.problem(Refused.newBuilder().setCause(cause).build()).status())
        .isEqualTo(status);
  }

  @Test
  void field_thatIsWrong_isNamedAsInJson() throws Exception {
    RejectionReason reason = RejectionSamples.of(KindCase.INVALID_FIELD);
    JsonObject problem =
        json(ProblemMapper.problem(RejectionDetail.failure(Status.INVALID_ARGUMENT, reason)));
    assertThat(problem.get("status").getAsInt()).isEqualTo(422);
    assertThat(problem.get("detail").getAsString())
        .isEqualTo("computePercent is 0.5; give 1 to 100");
    assertThat(
            problem
                .getAsJsonObject("reason")
                .getAsJsonObject("invalidField")
                .get("field")
                .getAsString())
        .isEqualTo("computePercent");
  }

  @Test
  void failure_withoutAReason_hasNone() throws Exception {
    JsonObject problem =
        json(
            ProblemMapper.problem(
                Status.NOT_FOUND.withDescription("no lease").asRuntimeException()));
    assertThat(problem.has("reason")).isFalse();
    assertThat(problem.get("detail").getAsString()).isEqualTo("no lease");
  }

  @Test
  void fieldName_ofAMessage_isThatOfProtobuf() {
    RejectionReason.getDescriptor()
        .getFields()
        .forEach(field ->
            assertThat(JsonForm.fieldName(field.getName())).isEqualTo(field.getJsonName()));
  }

  private static JsonObject json(ProblemException problem) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    problem.answer().body().writeTo(bytes);
    return JsonParser.parseString(bytes.toString(StandardCharsets.UTF_8)).getAsJsonObject();
  }
}
