// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gpupool.server.driver.DriverOptions;
import io.gpupool.server.gpu.GpuSpec;
import io.gpupool.server.limits.ServerLimits;
import io.gpupool.server.oidc.OidcOptions;
import io.gpupool.server.worker.WorkerCommand;
import io.gpupool.transport.tls.TlsFiles;
import java.net.InetAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerOptionsTest {
  @Test
  void gpuSpec_knownForms_areTaken() {
    assertThat(new GpuSpec("all").isSoft()).isFalse();
    assertThat(new GpuSpec("soft:2,mem=8Gi,cc=12.0").isSoft()).isTrue();
    assertThat(new GpuSpec("soft").text()).isEqualTo("soft:1");
    assertThat(new GpuSpec("soft,mem=1Gi").text()).isEqualTo("soft:1,mem=1Gi");
  }

  @Test
  void gpuSpec_anythingElse_saysWhatIsWrong() {
    for (String text :
        new String[] {
          "",
          "none",
          "soft:0",
          "soft:65",
          "soft:x",
          "soft:1,mem=1",
          "soft:1,cc=9",
          "soft:1,x=1",
          "all,mem=1Gi,cc=x",
          "softer:1",
          "soft:1,"
        }) {
      assertThatThrownBy(() -> new GpuSpec(text))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("--gpus");
    }
  }

  @Test
  void options_thatGuardNothing_areRefused(@TempDir Path folder) {
    TlsFiles roots = TlsFiles.trusting(folder.resolve("ca.pem"));
    assertThatThrownBy(() -> options(roots, AuthOptions.Method.none, null))
        .hasMessageContaining("--tls-client-ca")
        .hasMessageContaining("--tls-cert");
    OidcOptions issuer =
        new OidcOptions(URI.create("https://a.example"), "gpupool", "t", "r", null);
    assertThatThrownBy(() -> options(TlsFiles.NONE, AuthOptions.Method.none, issuer))
        .hasMessageContaining("--auth tokens");
  }

  @Test
  void options_whoeverConnectsMayDoAnything_isDevelopment(@TempDir Path folder) {
    Path file = folder.resolve("x.pem");
    assertThat(options(TlsFiles.NONE, AuthOptions.Method.none, null).isDevelopment()).isTrue();
    assertThat(
            options(new TlsFiles(file, file, null), AuthOptions.Method.none, null).isDevelopment())
        .isTrue();
    assertThat(
            options(new TlsFiles(file, file, file), AuthOptions.Method.none, null).isDevelopment())
        .isFalse();
  }

  private static ServerOptions options(
      TlsFiles tls, AuthOptions.Method auth, @Nullable OidcOptions oidc) {
    return new ServerOptions(
        new GpuOptions(
            new GpuSpec("soft:1"), DriverOptions.DEFAULT, GpuOptions.MissingPtx.fail, Map.of()),
        new PortOptions(InetAddress.getLoopbackAddress(), 0, 0, LocalSocketOptions.NONE),
        NameOptions.DEFAULT,
        StateOptions.IN_MEMORY,
        new TlsOptions(tls, null, false, false),
        new AuthOptions(auth, oidc, null),
        new WorkerOptions(WorkerCommand.onThisJava("none", List.of()), 0, true),
        ServerLimits.DEFAULT);
  }
}
