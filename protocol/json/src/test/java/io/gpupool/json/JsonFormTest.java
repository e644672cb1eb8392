// SPDX-License-Identifier: Apache-2.0
package io.gpupool.json;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import io.gpupool.control.v1.GpuSelector;
import io.gpupool.control.v1.Grant;
import io.gpupool.control.v1.LeaseRequest;
import io.gpupool.control.v1.Role;
import io.gpupool.control.v1.TokenInfo;
import java.util.List;
import org.junit.jupiter.api.Test;

class JsonFormTest {
  @Test
  void numbers_of64Bits_areNumbers() {
    Grant grant = Grant.newBuilder().setMemoryBytes(8_589_934_592L).setComputePercent(12.5).build();
    assertThat(JsonForm.text(JsonForm.of(grant)))
        .contains("\"memoryBytes\": 8589934592")
        .contains("\"computePercent\": 12.5");
  }

  @Test
  void constants_andFieldsWithoutAValue_areWrittenAsPeopleDo() {
    TokenInfo token = TokenInfo.newBuilder().setRole(Role.ROLE_READ_ONLY).build();
    assertThat(JsonForm.text(JsonForm.of(token)))
        .contains("\"role\": \"read-only\"")
        .contains("\"note\": \"\"");
  }

  @Test
  void list_ofMessages_isAnArray() {
    assertThat(JsonForm.text(JsonForm.of(List.of()))).isEqualTo("[]");
    assertThat(JsonForm.of(List.of(Grant.getDefaultInstance())).get(0).isJsonObject()).isTrue();
  }

  @Test
  void object_intoAMessage_setsWhatIsThere() {
    LeaseRequest.Builder request = LeaseRequest.newBuilder();
    JsonForm.into(
        JsonParser.parseString(
                "{\"memoryBytes\":1073741824,\"selectors\":"
                    + "[{\"key\":\"cc\",\"operator\":\"at-least\",\"values\":[\"8.0\"]}]}")
            .getAsJsonObject(),
        request);
    assertThat(request.getMemoryBytes()).isEqualTo(1L << 30);
    assertThat(request.getSelectorsList())
        .containsExactly(
            GpuSelector.newBuilder()
                .setKey("cc")
                .setOperator(GpuSelector.Operator.OPERATOR_AT_LEAST)
                .addValues("8.0")
                .build());
  }
}
