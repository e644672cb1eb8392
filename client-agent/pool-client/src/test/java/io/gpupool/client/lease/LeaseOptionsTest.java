// SPDX-License-Identifier: Apache-2.0
package io.gpupool.client.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.client.connection.PoolAddress;
import io.gpupool.control.v1.Holder;
import io.gpupool.control.v1.LeaseClass;
import io.gpupool.control.v1.LeaseRequest;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeaseOptionsTest {
  @Test
  void request_allValues_areSent() {
    LeaseRequest request =
        wish(Map.of("gpus", "2", "memory", "4Gi", "compute", "50%"))
            .request(Holder.getDefaultInstance());
    assertThat(request.getGpus()).isEqualTo(2);
    assertThat(request.getMemoryBytes()).isEqualTo(4L << 30);
    assertThat(request.getComputePercent()).isEqualTo(50);
    assertThat(request.hasFraction()).isFalse();
  }

  @Test
  void orElse_fractionOrMemoryGiven_replacesTheOthersWholeSize() {
    LeaseOptions defaults = wish(Map.of("gpus", "2", "fraction", "0.5", "compute", "10"));
    LeaseOptions own = wish(Map.of("memory", "1Gi")).orElse(defaults);
    assertThat(own.part().gpus()).isEqualTo("2");
    assertThat(own.part().memory()).isEqualTo("1Gi");
    assertThat(own.part().fraction()).isNull();
    assertThat(own.part().compute()).isNull();
    assertThat(wish(Map.of()).orElse(defaults)).isEqualTo(defaults);
  }

  @Test
  void class_isAskedForAsItIsNamed() {
    LeaseOptions latency = wish(Map.of("class", "latency"));
    Holder holder = Holder.getDefaultInstance();
    assertThat(latency.request(holder).getClass_()).isEqualTo(LeaseClass.LEASE_CLASS_LATENCY);
    assertThat(wish(Map.of()).orElse(latency).request(holder).getClass_())
        .isEqualTo(LeaseClass.LEASE_CLASS_LATENCY);
    LeaseOptions batch = wish(Map.of("class", "batch"));
    assertThat(batch.orElse(latency).request(holder).getClass_())
        .isEqualTo(LeaseClass.LEASE_CLASS_BATCH);
    assertThat(LeaseOptions.NOTHING.request(holder).getClass_())
        .isEqualTo(LeaseClass.LEASE_CLASS_UNSPECIFIED);
    assertThatThrownBy(() -> wish(Map.of("class", "gold")).request(holder))
        .hasMessage("there is no class 'gold' of leases; give batch or latency");
  }

  @Test
  void resumeWindow_isAskedForAsItIsGiven_andNoneIsNotTheDefault() {
    Holder holder = Holder.getDefaultInstance();
    LeaseOptions none = wish(Map.of("resume_window", "0"));
    assertThat(none.request(holder).hasResumeWindowMillis()).isTrue();
    assertThat(none.request(holder).getResumeWindowMillis()).isZero();
    LeaseOptions minutes = wish(Map.of("resume_window", "5m"));
    assertThat(minutes.request(holder).getResumeWindowMillis()).isEqualTo(300_000);
    assertThat(none.orElse(minutes).request(holder).getResumeWindowMillis()).isZero();
    assertThat(wish(Map.of()).orElse(minutes).request(holder).getResumeWindowMillis())
        .isEqualTo(300_000);
    assertThat(LeaseOptions.NOTHING.request(holder).hasResumeWindowMillis()).isFalse();
    for (String text : new String[] {"-1s", "a minute", "1.5s"}) {
      assertThatThrownBy(() -> wish(Map.of("resume_window", text)).request(holder))
          .hasMessage("'" + text + "' is not a duration; write for example 30s, 5m or 1h");
    }
  }

  @Test
  void duration_formsPeopleWrite_areRead() {
    assertThat(LeaseOptions.duration("90")).isEqualTo(Duration.ofSeconds(90));
    assertThat(LeaseOptions.duration("500ms")).isEqualTo(Duration.ofMillis(500));
    assertThat(LeaseOptions.duration("2h")).isEqualTo(Duration.ofHours(2));
    assertThatThrownBy(() -> LeaseOptions.duration("soon")).hasMessageContaining("30s");
  }

  @Test
  void poolAddress_forms_areRead() {
    assertThat(PoolAddress.parse("gpu1")).isEqualTo(new PoolAddress("gpu1", 7642));
    assertThat(PoolAddress.parse("gpu1:80")).isEqualTo(new PoolAddress("gpu1", 80));
    assertThat(PoolAddress.parse("[::1]:80")).isEqualTo(new PoolAddress("::1", 80));
    assertThat(PoolAddress.parse("::1")).isEqualTo(new PoolAddress("::1", 7642));
    assertThat(PoolAddress.parse("tls://gpu1"))
        .isEqualTo(new PoolAddress("gpu1", 7642, true))
        .hasToString("tls://gpu1:7642");
    assertThat(PoolAddress.parse("gpu1,tls://gpu2")).hasToString("tls://gpu1:7642,tls://gpu2:7642");
    assertThat(PoolAddress.parse("::1")).hasToString("[::1]:7642");
    for (String text : new String[] {"", ":80", "a:", "a:0", "a:65536", "a b", "[::1]x", "[]"}) {
      assertThatThrownBy(() -> PoolAddress.parse(text))
          .describedAs(text)
          .hasMessageContaining("HOST:PORT");
    }
  }

  private static LeaseOptions wish(Map<String, String> values) {
    return LeaseOptions.from(key -> Optional.ofNullable(values.get(key)));
  }
}
