// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.deviceplugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.gpupool.k8s.deviceplugin.v1beta1.AllocateRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerAllocateRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.ContainerPreferredAllocationRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.Device;
import io.gpupool.k8s.deviceplugin.v1beta1.Empty;
import io.gpupool.k8s.deviceplugin.v1beta1.PreferredAllocationRequest;
import io.gpupool.k8s.deviceplugin.v1beta1.RegisterRequest;
import io.gpupool.transport.EventLoops;
import io.grpc.Status;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

class DevicePluginIT {
  private static final ContainerAllocation WIRING =
      new ContainerAllocation(Path.of("/opt/gpupool/shim"), Path.of("/run/gpupool"), null);
  private static final Duration LONG = Duration.ofMinutes(10);

  @TempDir Path temporary;

  private final EventLoopGroup loops = EventLoops.create("test", 2);
  private Path folder;
  private StandInKubelet kubelet;
  private Optional<DevicePlugin> plugin = Optional.empty();

  @BeforeEach
  void startKubelet() throws IOException {
    folder = temporary.resolve("device-plugins");
    kubelet = new StandInKubelet(folder, loops);
    kubelet.start();
  }

  @AfterEach
  void stop() {
    plugin.ifPresent(DevicePlugin::close);
    kubelet.close();
    loops.shutdownGracefully();
  }

  @Test
  void plugin_kubeletIsThere_registersAndShowsASeatForEachHundredth() {
    start(truth(2), LONG, LONG);
    awaitDevices(200, "Healthy");
    assertThat(kubelet.devices()).extracting(Device::getID).containsExactlyElementsOf(ids(0, 200));
    assertThat(kubelet.registrations())
        .containsExactly(
            RegisterRequest.newBuilder()
                .setVersion("v1beta1")
                .setEndpoint("gpupool.sock")
                .setResourceName("gpupool.io/gpu-percent")
                .setOptions(DevicePluginService.OPTIONS)
                .build());
    assertThat(kubelet.plugin().getDevicePluginOptions(Empty.getDefaultInstance()))
        .isEqualTo(DevicePluginService.OPTIONS);
  }

  @Test
  void plugin_noFolderOfAKubeletYet_registersWhenThereIs() throws IOException {
    kubelet.stop();
    Files.delete(folder.resolve("kubelet.sock"));
    Files.delete(folder);
    start(truth(1), LONG, LONG);
    kubelet.start();
    awaitDevices(100, "Healthy");
  }

  @Test
  void plugin_kubeletEndedAndLeftItsSocket_registersWithTheNext() throws IOException {
    kubelet.stop();
    start(truth(1), LONG, LONG);
    await().until(() -> Files.exists(folder.resolve("gpupool.sock")));
    kubelet.start();
    awaitDevices(100, "Healthy");
  }

  @Test
  void plugin_kubeletRestartsAndEmptiesItsFolder_registersAgainEachTime() throws IOException {
    start(truth(1), LONG, LONG);
    for (int restarts = 1; restarts <= 3; restarts++) {
      awaitDevices(100, "Healthy");
      kubelet.restart();
    }
    awaitDevices(100, "Healthy");
    assertThat(kubelet.plugin().allocate(allocation("gpupool-7")).getContainerResponsesCount())
        .isEqualTo(1);
  }

  @Test
  void plugin_looksAlmostNever_isToldOfKubeletsByTheFolder() throws IOException {
    plugin = Optional.of(DevicePlugin.start(truth(1), options(LONG, LONG, LONG), loops));
    awaitDevices(100, "Healthy");
    kubelet.restart();
    awaitDevices(100, "Healthy");
    assertThat(kubelet.registrations()).hasSizeGreaterThanOrEqualTo(2);
  }

  @Test
  void plugin_ownSocketIsRemoved_makesItAgainAndRegisters() throws IOException {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    Files.delete(folder.resolve("gpupool.sock"));
    await().until(() -> kubelet.registrations().size() >= 2);
    assertThat(Files.exists(folder.resolve("gpupool.sock"))).isTrue();
    await().until(() -> kubelet.lostStreams() >= 1);
  }

  @Test
  void plugin_poolIsUnknownAtStart_showsNothingUntilItIsKnown() {
    SettableTruth truth = new SettableTruth(OptionalInt.empty());
    start(truth, Duration.ZERO, LONG);
    await().until(() -> kubelet.lists() == 1);
    assertThat(kubelet.devices()).isEmpty();
    truth.set(OptionalInt.of(3));
    awaitDevices(300, "Healthy");
  }

  @Test
  void plugin_poolIsLostForTooLong_showsAllUnhealthyAndHealthyWhenItIsBack() {
    SettableTruth truth = truth(2);
    start(truth, Duration.ZERO, LONG);
    awaitDevices(200, "Healthy");
    truth.set(OptionalInt.empty());
    awaitDevices(200, "Unhealthy");
    truth.set(OptionalInt.of(2));
    awaitDevices(200, "Healthy");
    assertThat(kubelet.lists()).isEqualTo(3);
  }

  @Test
  void plugin_poolGrowsAndShrinks_tellsEachTimeOnTheSameStream() {
    SettableTruth truth = truth(1);
    start(truth, LONG, LONG);
    awaitDevices(100, "Healthy");
    truth.set(OptionalInt.of(2));
    awaitDevices(200, "Healthy");
    truth.set(OptionalInt.of(0));
    await().until(() -> kubelet.devices().isEmpty());
    assertThat(kubelet.registrations()).hasSize(1);
    assertThat(kubelet.lists()).isEqualTo(3);
  }

  @Test
  void plugin_poolIsHuge_showsAsManyAsAreAllowed() {
    start(truth(1000), LONG, LONG);
    awaitDevices(20_000, "Healthy");
  }

  @Test
  void plugin_registrationIsRefused_triesAgainAndSaysItOnce() {
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    Logger logger = (Logger) LoggerFactory.getLogger(KubeletRegistration.class);
    log.start();
    logger.addAppender(log);
    try {
      kubelet.refuse(Optional.of(Status.UNKNOWN.withDescription("the version is too new")));
      start(truth(1), LONG, LONG);
      await().until(() -> kubelet.registrations().size() >= 3);
      kubelet.refuse(Optional.empty());
      awaitDevices(100, "Healthy");
    } finally {
      logger.detachAppender(log);
    }
    assertThat(log.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .filteredOn(text -> text.contains("the version is too new"))
        .hasSize(1);
  }

  @Test
  void plugin_kubeletNeverAsksForDevices_registersAgain() {
    kubelet.watch(false);
    start(truth(1), LONG, Duration.ofMillis(1));
    await().until(() -> kubelet.registrations().size() >= 2);
    kubelet.watch(true);
    awaitDevices(100, "Healthy");
  }

  @Test
  void allocate_devicesThatAreShown_answersTheWiringOncePerContainer() {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    AllocateRequest both =
        allocation("gpupool-0", "gpupool-99").toBuilder()
            .mergeFrom(allocation("gpupool-5"))
            .build();
    assertThat(kubelet.plugin().allocate(both).getContainerResponsesList())
        .containsExactly(WIRING.answer(), WIRING.answer());
  }

  @Test
  void allocate_deviceThatIsNotShown_saysWhichThereAre() {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    assertThatThrownBy(() -> kubelet.plugin().allocate(allocation("gpupool-1", "gpupool-100")))
        .hasMessageContaining("INVALID_ARGUMENT")
        .hasMessageContaining("'gpupool-100'")
        .hasMessageContaining("gpupool-0 to gpupool-99");
  }

  @Test
  void preferredAllocation_someMustBeIncluded_addsTheLowestOthers() {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    PreferredAllocationRequest request =
        PreferredAllocationRequest.newBuilder()
            .addContainerRequests(
                ContainerPreferredAllocationRequest.newBuilder()
                    .addAllAvailableDeviceIDs(ids(20, 80).reversed())
                    .addMustIncludeDeviceIDs("gpupool-50")
                    .setAllocationSize(3))
            .build();
    assertThat(
            kubelet
                .plugin()
                .getPreferredAllocation(request)
                .getContainerResponses(0)
                .getDeviceIDsList())
        .containsExactlyInAnyOrder("gpupool-50", "gpupool-20", "gpupool-21");
  }

  @Test
  void preferredAllocation_moreMustBeIncludedThanWanted_isRefused() {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    PreferredAllocationRequest request =
        PreferredAllocationRequest.newBuilder()
            .addContainerRequests(
                ContainerPreferredAllocationRequest.newBuilder()
                    .addAllMustIncludeDeviceIDs(ids(0, 2))
                    .setAllocationSize(1))
            .build();
    assertThatThrownBy(() -> kubelet.plugin().getPreferredAllocation(request))
        .hasMessageContaining("of 1 devices 2 cannot be");
  }

  @Test
  void close_running_removesItsSocketAndLetsGoOfThePool() {
    SettableTruth truth = truth(1);
    start(truth, LONG, LONG);
    awaitDevices(100, "Healthy");
    plugin.orElseThrow().close();
    assertThat(folder).isDirectoryNotContaining(file -> file.toString().contains("gpupool"));
    assertThat(truth.listeners()).isZero();
    await().until(() -> kubelet.lostStreams() == 1);
  }

  @Test
  void plugin_laterOneTakesOver_standsAsideAndComesBackWhenThatEnds() {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    DevicePlugin later = DevicePlugin.start(truth(2), options(LONG, LONG), loops);
    awaitDevices(200, "Healthy");
    later.close();
    awaitDevices(100, "Healthy");
  }

  @Test
  void close_laterOneHasTakenOver_leavesThatItsSocket() {
    start(truth(1), LONG, LONG);
    awaitDevices(100, "Healthy");
    DevicePlugin later = DevicePlugin.start(truth(2), options(LONG, LONG), loops);
    awaitDevices(200, "Healthy");
    plugin.orElseThrow().close();
    assertThat(PluginSocket.isServed(folder.resolve("gpupool.sock"))).isTrue();
    later.close();
    assertThat(PluginSocket.isServed(folder.resolve("gpupool.sock"))).isFalse();
  }

  private void start(PoolState truth, Duration patience, Duration unwatched) {
    plugin = Optional.of(DevicePlugin.start(truth, options(patience, unwatched), loops));
  }

  private PluginOptions options(Duration patience, Duration unwatched) {
    return options(patience, Duration.ofMillis(20), unwatched);
  }

  private PluginOptions options(Duration patience, Duration lookEvery, Duration unwatched) {
    return new PluginOptions(
        PluginOptions.RESOURCE,
        folder,
        "gpupool.sock",
        20_000,
        patience,
        lookEvery,
        unwatched,
        WIRING);
  }

  private void awaitDevices(int count, String health) {
    await()
        .until(
            () -> kubelet.devices(),
            devices ->
                devices.size() == count
                    && devices.stream().allMatch(device -> device.getHealth().equals(health)));
  }

  private static SettableTruth truth(int gpus) {
    return new SettableTruth(OptionalInt.of(gpus));
  }

  private static AllocateRequest allocation(String... ids) {
    return AllocateRequest.newBuilder()
        .addContainerRequests(ContainerAllocateRequest.newBuilder().addAllDevicesIds(List.of(ids)))
        .build();
  }

  private static List<String> ids(int from, int to) {
    return IntStream.range(from, to).mapToObj(DeviceId::of).toList();
  }
}
