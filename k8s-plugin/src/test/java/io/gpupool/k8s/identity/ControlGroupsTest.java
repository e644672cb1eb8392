// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ControlGroupsTest {
  private static final String UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";
  private static final String UID_ = UID.replace('-', '_');
  private static final String ID = "0123456789abcdef".repeat(4);
  private static final String OTHER_ID = "fedcba9876543210".repeat(4);
  private static final Owner IN_POD = new Owner.InPod(new PodUid(UID), new ContainerId(ID));

  @ParameterizedTest
  @ValueSource(
      strings = {
        // The kubelet's cgroupfs driver: guaranteed, burstable, best effort.
        "/kubepods/podUID/ID",
        "/kubepods/burstable/podUID/ID",
        "/kubepods/besteffort/podUID/ID",
        // systemd's, with containerd, CRI-O and Docker.
        "/kubepods.slice/kubepods-podUID_.slice/cri-containerd-ID.scope",
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID_.slice/crio-ID.scope",
        "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podUID_.slice/docker-ID.scope",
        "/kubepods.slice/kubepods-podUID_.slice/crio-ID.scope/container",
        "/kubepods.slice/kubepods-podUID_.slice/cri-containerd-ID.scope/init.scope",
        "/kubepods/burstable/podUID/crio-ID",
        // containerd with paths of systemd's form but not its driver.
        "/system.slice/containerd.service/kubepods-burstable-podUID_.slice:cri-containerd:ID",
        "/kubepods-besteffort-podUID_.slice:cri-containerd:ID",
        // A kubelet with a root of its own; nodes that are containers.
        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podUID_.slice/cri-containerd-ID.scope",
        "/docker/OTHER/kubelet/kubepods/besteffort/podUID/ID",
        "/system.slice/docker-OTHER.scope/kubelet.slice/kubelet-kubepods.slice"
            + "/kubelet-kubepods-podUID_.slice/cri-containerd-ID.scope",
        // Seen from another container.
        "/../podUID/ID",
        "/../../burstable/podUID/ID",
        "/../../kubepods-burstable-podUID_.slice/cri-containerd-ID.scope",
        // What the container has made itself does not count, nor that it ends.
        "/kubepods/podUID/ID/kubepods/pod11111111-2222-3333-4444-555555555555/OTHER",
        "/kubepods/podUID/ID/docker/OTHER",
        "/kubepods/podUID/ID (deleted)",
      })
  void owner_placeOfAContainer_isFound(String path) {
    assertThat(ControlGroups.owner("0::" + named(path) + "\n")).isEqualTo(IN_POD);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/",
        "",
        "/init.scope",
        "/system.slice/kubelet.service",
        "/docker/ID",
        "/system.slice/docker-ID.scope",
        "/podUID/ID",
        "/kubepods/burstable/pod0a1b2c3d/ID",
        "/kubepods/burstable/podUIDx/ID",
        "/some/kubepodsx/podUID/ID",
        // A user of the node may make groups of any name.
        "/user.slice/user-1000.slice/user@1000.service/kubepods/podUID/ID",
        "/user.slice/kubepods.slice/kubepods-podUID_.slice/cri-containerd-ID.scope",
      })
  void owner_placeOutsideOfPods_isNobody(String path) {
    assertThat(ControlGroups.owner("0::" + named(path) + "\n"))
        .isEqualTo(new Owner.Unknown("it is in no pod"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/kubepods/podUID",
        "/kubepods/podUID/",
        "/kubepods/podUID/ID0",
        "/kubepods/podUID/kata_overhead",
        "/kubepods.slice/kubepods-podUID_.slice/crio-conmon-ID.scope",
        "/kubepods.slice/kubepods-podUID_.slice:cri-containerd:",
      })
  void owner_placeInAPodButInNoContainer_isUnknown(String path) {
    assertThat(ControlGroups.owner("0::" + named(path) + "\n"))
        .isEqualTo(new Owner.Unknown("it is in pod " + UID + ", but in none of its containers"));
  }

  @Test
  void owner_podFromAFile_hasAUidOfPlainDigits() {
    String uid = "00112233445566778899aabbccddeeff";
    for (String path :
        List.of(
            "/kubepods/burstable/pod" + uid + "/" + ID,
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
                + uid
                + ".slice/cri-containerd-"
                + ID
                + ".scope")) {
      assertThat(ControlGroups.owner("0::" + path))
          .isEqualTo(new Owner.InPod(new PodUid(uid), new ContainerId(ID)));
    }
  }

  @Test
  void owner_versionOne_isThatOfTheLinesThatTell() {
    String text =
        """
        12:rdma:/
        11:perf_event,net_cls:/kubepods/burstable/podUID
        10:cpu,cpuacct:/kubepods/burstable/podUID/ID
        9:memory:/kubepods/burstable/podUID/ID
        1:name=systemd:/kubepods/burstable/podUID/ID
        0::/system.slice/containerd.service
        """;
    assertThat(ControlGroups.owner(named(text))).isEqualTo(IN_POD);
  }

  @Test
  void owner_linesOfSeveralContainersOrPods_isUnknown() {
    Owner several = new Owner.Unknown("its control groups are those of several containers");
    assertThat(
            ControlGroups.owner(named("2:cpu:/kubepods/podUID/ID\n1:pids:/kubepods/podUID/OTHER")))
        .isEqualTo(several);
    assertThat(
            ControlGroups.owner(
                named(
                    "2:cpu:/kubepods/podUID/ID\n"
                        + "1:pids:/kubepods/pod11111111-2222-3333-4444-555555555555")))
        .isEqualTo(several);
  }

  private static String named(String text) {
    return text.replace("UID_", UID_)
        .replace("UID", UID)
        .replace("OTHER", OTHER_ID)
        .replace("ID", ID);
  }
}
