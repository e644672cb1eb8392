// SPDX-License-Identifier: Apache-2.0
package io.gpupool.worker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.gpupool.cuda.AnswerKind;
import io.gpupool.cuda.CudaResult;
import io.gpupool.cuda.Ops;
import io.gpupool.cuda.SharedHost;
import io.gpupool.soft.device.SoftGpu.MissingPtx;
import io.gpupool.soft.device.spec.DeviceSpec;
import io.gpupool.worker.os.Memory;
import io.gpupool.worker.os.Posix;
import io.gpupool.worker.seal.ProgramEnd;
import io.gpupool.worker.soft.SoftBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Page-locked memory of a program that a session maps. */
@Timeout(120)
class SharedHostMemoryTest {
  private static final long WINDOW_MILLIS = 60_000;
  private static final int BYTES = 1 << 20;
  private static final int REGION = 5;

  /**
   * Sessions of other tests of this process leave theirs mapped, as one does that ends with its
   * process.
   */
  private final String name = "page-locked-" + System.nanoTime();

  private final SoftBackend backend =
      new SoftBackend(new DeviceSpec(1, 128L << 20, 90), MissingPtx.SKIP);
  private final ResumingClient client =
      new ResumingClient(backend, WINDOW_MILLIS, ProgramEnd.Kind.SHARED);
  private final int file = Posix.sealedMemoryFile(name, BYTES);
  private final long memory = Posix.mapShared(file, 0, BYTES);
  private int lastTag;
  private long device;

  @BeforeEach
  void allocate() {
    assertThat(client.next().kind()).isEqualTo(AnswerKind.WELCOME);
    assertThat(call(Ops.ctxRetainPrimary, 0, 0).result()).isZero();
    device = call(Ops.memAlloc, BYTES, 1).u64(0);
  }

  @AfterEach
  void close() {
    client.close();
    backend.close();
    Posix.unmap(memory, BYTES);
    Posix.close(file);
  }

  private Answer call(int op, Object... fields) {
    client.ask(++lastTag, op, fields);
    return client.reply(lastTag);
  }

  private int share(int descriptor, long lengthBytes) throws IOException {
    client.sendDescriptor(descriptor);
    return call(Ops.hostShare, REGION, lengthBytes).result();
  }

  private int synchronize() {
    return call(Ops.ctxSynchronize).result();
  }

  private void copyThereAndBack() {
    Memory.putLong(memory, 0x1234_5678_9abcL);
    client.post(Ops.hostToDevice, device, REGION, 0, BYTES / 2, 0);
    client.post(Ops.deviceToHost, REGION, BYTES / 2, device, BYTES / 2, 0);
    assertThat(synchronize()).isZero();
    assertThat(Memory.getLong(memory + BYTES / 2)).isEqualTo(0x1234_5678_9abcL);
  }

  @Test
  void copies_ofASharedRegion_moveItsBytes() throws IOException {
    assertThat(share(file, BYTES)).isZero();
    copyThereAndBack();
  }

  @Test
  void region_staysShared_overAResumption() throws IOException {
    assertThat(share(file, BYTES)).isZero();
    client.cut();
    client.resume(false);
    copyThereAndBack();
  }

  @Test
  void region_isGone_withItsContextAndWhenItIsUnshared() throws IOException {
    assertThat(share(file, BYTES)).isZero();
    client.post(Ops.hostUnshare, REGION);
    assertThat(synchronize()).isZero();
    client.post(Ops.hostToDevice, device, REGION, 0, 8, 0);
    assertThat(synchronize()).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(share(file, BYTES)).isZero();
    assertThat(call(Ops.ctxResetPrimary, 0).result()).isZero();
    assertThat(mapped()).isEmpty();
  }

  /** Lines of this process's map, besides the test's own. */
  private List<String> mapped() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
      return lines.filter(line -> line.contains(name)).skip(1).toList();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1048577, 0",
    "1048576, 1, 0",
    "-8, 8, 0",
    "8, -8, 0",
    "9223372036854775807, 9223372036854775807, 0",
    "0, 64, 1048513",
  })
  void copy_beyondRegionOrMemory_isRefused(long offset, long lengthBytes, long place)
      throws IOException {
    assertThat(share(file, BYTES)).isZero();
    client.post(Ops.hostToDevice, device + place, REGION, offset, lengthBytes, 0);
    assertThat(synchronize()).isEqualTo(CudaResult.INVALID_VALUE);
    client.post(Ops.deviceToHost, REGION, offset, device + place, lengthBytes, 0);
    assertThat(synchronize()).isEqualTo(CudaResult.INVALID_VALUE);
    copyThereAndBack();
  }

  @Test
  void share_withoutADescriptor_isNotSupported() {
    assertThat(call(Ops.hostShare, REGION, BYTES).result()).isEqualTo(CudaResult.NOT_SUPPORTED);
  }

  @Test
  void share_fileThatCanBecomeShorter_isRefused() throws IOException {
    int open = Posix.memoryFile(name, BYTES);
    assertThat(share(open, BYTES)).isEqualTo(CudaResult.INVALID_VALUE);
    Posix.close(open);
    assertThat(share(file, BYTES + 1)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(share(file, 0)).isEqualTo(CudaResult.INVALID_VALUE);
    assertThat(share(file, -4096)).isEqualTo(CudaResult.INVALID_VALUE);
  }

  @Test
  void share_moreThanASessionMay_isRefused() throws IOException {
    assertThat(share(file, SharedHost.BYTES + 1L)).isEqualTo(CudaResult.OUT_OF_MEMORY);
    assertThat(share(file, BYTES)).isZero();
    assertThat(share(file, BYTES)).isEqualTo(CudaResult.INVALID_VALUE);
    copyThereAndBack();
  }

  @Test
  void descriptors_thatNobodyTakes_areClosed() throws IOException {
    int before = descriptors();
    for (int i = 0; i < 100; i++) {
      client.sendDescriptor(file);
    }
    assertThat(share(file, BYTES)).isZero();
    await().untilAsserted(() -> assertThat(descriptors()).isEqualTo(before));
    copyThereAndBack();
  }

  /** The number of this process's descriptors of the test's file. */
  private int descriptors() throws IOException {
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      return (int) all.filter(this::isOurs).count();
    }
  }

  private boolean isOurs(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().contains(name);
    } catch (IOException e) {
      return false;
    }
  }
}
