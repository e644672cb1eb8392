// SPDX-License-Identifier: Apache-2.0
package io.gpupool.soft.device;

import static io.gpupool.soft.device.TestGpu.assertStatus;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.gpupool.soft.CudaStatus;
import io.gpupool.soft.Dim3;
import io.gpupool.soft.device.context.SoftContext;
import io.gpupool.soft.device.module.LaunchCheck;
import io.gpupool.soft.device.module.Occupancy;
import io.gpupool.soft.device.module.SoftFunction;
import io.gpupool.soft.device.module.SoftModule;
import io.gpupool.soft.device.spec.LaunchShape;
import io.gpupool.soft.exec.launch.ClusterShape;
import io.gpupool.soft.image.DeviceImage;
import io.gpupool.soft.image.SampleImages;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Launch rules, function attributes and occupancy, which must agree with each other. */
final class LaunchCheckTest {
  private static final int MAX_DYNAMIC_SHARED = 8;
  private static final int CLUSTER_WIDTH = 11;

  private final SoftGpu gpu = TestGpu.create();
  private final SoftContext context = new SoftContext(gpu.device(0), 0);
  private final SoftModule module =
      SoftModule.load(context, DeviceImage.parse(SampleImages.image("sample.ptx"), 90));
  private final SoftFunction scale = module.function("scale");
  private final SoftFunction count = module.function("count");

  @AfterEach
  void close() {
    gpu.close();
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 1, 32, 1, 1",
    "1, 65536, 1, 32, 1, 1",
    "1, 1, 65536, 32, 1, 1",
    "1, 1, 1, 0, 1, 1",
    "1, 1, 1, 1025, 1, 1",
    "1, 1, 1, 32, 33, 1",
    "1, 1, 1, 1, 1, 65",
    "-1, 1, 1, 32, 1, 1",
  })
  void check_shapeOutOfRange_isInvalid(int gx, int gy, int gz, int bx, int by, int bz) {
    assertStatus(
        () ->
            LaunchCheck.check(
                scale, new LaunchShape(new Dim3(gx, gy, gz), new Dim3(bx, by, bz), 0, false)),
        CudaStatus.INVALID_VALUE);
  }

  @Test
  void check_largestShapes_arePermitted() {
    LaunchCheck.check(
        scale,
        new LaunchShape(new Dim3(Integer.MAX_VALUE, 65535, 65535), new Dim3(1024), 0, false));
    LaunchCheck.check(scale, new LaunchShape(new Dim3(1), new Dim3(4, 4, 64), 0, false));
    LaunchCheck.check(scale, new LaunchShape(new Dim3(1), new Dim3(1, 1024), 49152, false));
  }

  @Test
  void check_moreThreadsThanLaunchBounds_isInvalid() {
    assertThat(count.attribute(0)).isEqualTo(128);
    LaunchCheck.check(count, new LaunchShape(new Dim3(1), new Dim3(128), 0, false));
    assertStatus(
        () -> LaunchCheck.check(count, new LaunchShape(new Dim3(1), new Dim3(129), 0, false)),
        CudaStatus.INVALID_VALUE);
  }

  @Test
  void check_sharedMemoryBeyondDefault_needsTheAttributeSet() {
    LaunchShape launch = new LaunchShape(new Dim3(1), new Dim3(32), 100_000, false);
    assertStatus(() -> LaunchCheck.check(scale, launch), CudaStatus.INVALID_VALUE);

    scale.setAttribute(MAX_DYNAMIC_SHARED, 100_000);

    LaunchCheck.check(scale, launch);
    assertThat(scale.attribute(MAX_DYNAMIC_SHARED)).isEqualTo(100_000);
    assertStatus(
        () -> scale.setAttribute(MAX_DYNAMIC_SHARED, 227 * 1024 + 1), CudaStatus.INVALID_VALUE);
  }

  @Test
  void check_cooperativeGrid_mustFitTheDevice() {
    int blocks = Occupancy.blocksPerMultiprocessor(scale, 1024, 0) * gpu.cores();

    LaunchCheck.check(scale, new LaunchShape(new Dim3(blocks), new Dim3(1024), 0, true));
    assertStatus(
        () ->
            LaunchCheck.check(
                scale, new LaunchShape(new Dim3(blocks + 1), new Dim3(1024), 0, true)),
        CudaStatus.COOPERATIVE_LAUNCH_TOO_LARGE);
    assertStatus(
        () ->
            LaunchCheck.check(
                scale,
                new LaunchShape(new Dim3(Integer.MAX_VALUE, 65535, 65535), new Dim3(1), 0, true)),
        CudaStatus.COOPERATIVE_LAUNCH_TOO_LARGE);
  }

  @Test
  void check_kernelForClustersOnly_needsASizeFromTheLaunchOrTheFunction() {
    String text =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
            + ".visible .entry apart() .explicitcluster { ret; }\n"
            + ".visible .entry pairs() .explicitcluster .reqnctapercluster 2 { ret; }\n";
    SoftModule clustered =
        SoftModule.load(
            context, DeviceImage.parse(MemorySegment.ofArray(text.getBytes(US_ASCII)), 90));
    SoftFunction apart = clustered.function("apart");
    LaunchShape launch = new LaunchShape(new Dim3(4), new Dim3(32), 0, false);

    assertStatus(() -> LaunchCheck.check(apart, launch), CudaStatus.INVALID_CLUSTER_SIZE);
    ClusterShape one = new ClusterShape(1, 1, 1, true);
    assertThat(LaunchCheck.check(apart, launch.inClusters(one)).cluster()).isEqualTo(one);
    assertThat(LaunchCheck.check(clustered.function("pairs"), launch).cluster())
        .isEqualTo(new ClusterShape(2, 1, 1, true));
    apart.setAttribute(CLUSTER_WIDTH, 4);
    assertThat(LaunchCheck.check(apart, launch).cluster())
        .isEqualTo(new ClusterShape(4, 1, 1, true));
  }

  @Test
  void launch_noParameterBytes_isInvalid() {
    LaunchShape launch = new LaunchShape(new Dim3(1), new Dim3(32), 0, false);

    assertStatus(
        () -> scale.launch(context.legacyStream(), launch, MemorySegment.ofArray(new byte[0])),
        CudaStatus.INVALID_VALUE);
  }

  @Test
  void launch_functionOfAnotherContext_isInvalidHandle() {
    SoftContext other = new SoftContext(gpu.device(0), 0);

    assertStatus(
        () ->
            scale.launch(
                other.legacyStream(),
                new LaunchShape(new Dim3(1), new Dim3(32), 0, false),
                MemorySegment.ofArray(new byte[16])),
        CudaStatus.INVALID_HANDLE);
  }

  @ParameterizedTest
  @CsvSource({"32, 0, 32", "64, 0, 32", "1024, 0, 2", "96, 0, 21", "32, 100000, 2", "1025, 0, 0"})
  void occupancy_computeCapability90_isLimitedByThreadsBlocksAndShared(
      int threads, int sharedBytes, int blocks) {
    assertThat(Occupancy.blocksPerMultiprocessor(scale, threads, sharedBytes)).isEqualTo(blocks);
  }

  @Test
  void availableDynamicShared_blocksAsked_letsThatManyBeResident() {
    scale.setAttribute(MAX_DYNAMIC_SHARED, 227 * 1024);
    for (int blocks : new int[] {1, 2, 3, 7, 16, 32}) {
      long bytes = Occupancy.availableDynamicSharedBytes(scale, blocks, 64);

      assertThat(Occupancy.blocksPerMultiprocessor(scale, 64, bytes))
          .isGreaterThanOrEqualTo(blocks);
      assertThat(Occupancy.blocksPerMultiprocessor(scale, 64, bytes + 129)).isLessThan(blocks + 1);
    }
  }

  @Test
  void attributes_ofSample_areThoseOfItsSource() {
    assertThat(count.attribute(1)).as("static shared").isEqualTo(128);
    assertThat(scale.attribute(0)).isEqualTo(1024);
    assertThat(scale.attribute(5)).as("PTX version").isEqualTo(75);
    assertThat(scale.attribute(6)).as("binary version").isEqualTo(90);
    assertThat(scale.attribute(8)).isEqualTo(49152);
    assertThat(scale.attribute(9)).isEqualTo(-1);
    assertStatus(() -> scale.attribute(99), CudaStatus.INVALID_VALUE);
    assertStatus(() -> scale.setAttribute(0, 1), CudaStatus.INVALID_VALUE);
  }
}
