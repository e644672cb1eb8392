// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.identity;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A reader of a process's owner from its control groups, as in /proc/PID/cgroup.
 *
 * <p>The kubelet puts pods under kubepods, those that are not guaranteed in a group for their
 * class, and the runtime puts containers into their pod's:
 *
 * <pre>
 * cgroupfs  /kubepods/burstable/podUID/CONTAINER
 * systemd   /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/RUNTIME-CONTAINER.scope
 * mixed     /system.slice/containerd.service/kubepods-burstable-podUID.slice:cri-containerd:CONTAINER
 * </pre>
 *
 * systemd writes _ for - in UIDs. There may be more groups around them (if the cluster's nodes are
 * containers) and within them (made by a container). Seen from within another container, a path
 * begins with "..". The outermost pod counts, because anyone in a pod can name the groups within
 * it. A path whose groups a user of the node may have made is in no pod.
 */
final class ControlGroups {
  private static final String UID = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})";
  private static final String SYSTEMD_UID =
      "([0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}|[0-9a-f]{32})";
  private static final Pattern POD = Pattern.compile("pod" + UID);
  private static final Pattern SYSTEMD_POD =
      Pattern.compile(
          "(?:[a-zA-Z0-9_.\\\\]+-)*kubepods(?:-[a-z]+)?-pod" + SYSTEMD_UID + "\\.slice");
  private static final Pattern PARENT_OF_PODS =
      Pattern.compile(
          "\\.\\.|kubepods|besteffort|burstable"
              + "|(?:[a-zA-Z0-9_.\\\\]+-)*kubepods(?:-[a-z]+)?\\.slice");
  private static final Pattern OF_A_USER =
      Pattern.compile("user\\.slice|user-[0-9]+\\.slice|user@[0-9]+\\.service");
  private static final Pattern CONTAINER =
      Pattern.compile("(?:([a-z][a-z0-9-]*)-)?([0-9a-f]{64})(?:\\.scope)?");
  private static final String GONE = " (deleted)";

  private ControlGroups() {}

  /** Returns the owner of a process. Never throws, whatever the text. */
  static Owner owner(String text) {
    List<Place> places = new ArrayList<>();
    for (String line : text.split("\n")) {
      // Number, controllers, path; the path may have colons.
      String[] fields = line.split(":", 3);
      if (fields.length == 3) {
        place(fields[2]).ifPresent(places::add);
      }
    }
    if (places.isEmpty()) {
      return new Owner.Unknown("it is in no pod");
    }
    PodUid pod = places.getFirst().pod();
    List<ContainerId> containers =
        places.stream().flatMap(place -> Stream.ofNullable(place.container())).distinct().toList();
    if (containers.size() > 1 || places.stream().anyMatch(place -> !place.pod().equals(pod))) {
      return new Owner.Unknown("its control groups are those of several containers");
    }
    return containers.isEmpty()
        ? new Owner.Unknown("it is in pod " + pod + ", but in none of its containers")
        : new Owner.InPod(pod, containers.getFirst());
  }

  /** Returns pod and container of a path; empty if it is outside of all pods. */
  private static Optional<Place> place(String path) {
    String whole = path.endsWith(GONE) ? path.substring(0, path.length() - GONE.length()) : path;
    String[] groups = whole.split("/");
    String parent = "";
    for (int depth = 0; depth < groups.length; depth++) {
      String group = groups[depth];
      if (OF_A_USER.matcher(group).matches()) {
        return Optional.empty();
      }
      String[] parts = group.split(":", 3);
      Optional<PodUid> pod = pod(parts[0], parent);
      if (pod.isPresent()) {
        String next = depth + 1 < groups.length ? groups[depth + 1] : "";
        return Optional.of(
            new Place(pod.get(), container(parts.length == 3 ? parts[2] : next).orElse(null)));
      }
      parent = group;
    }
    return Optional.empty();
  }

  private static Optional<PodUid> pod(String group, String parent) {
    Matcher systemd = SYSTEMD_POD.matcher(group);
    if (systemd.matches()) {
      return Optional.of(new PodUid(systemd.group(1).replace('_', '-')));
    }
    Matcher plain = POD.matcher(group);
    return plain.matches() && PARENT_OF_PODS.matcher(parent).matches()
        ? Optional.of(new PodUid(plain.group(1)))
        : Optional.empty();
  }

  /**
   * Returns the container of a group; empty for the pod's own group, and for that of the runtime's
   * watcher of a container.
   */
  private static Optional<ContainerId> container(String group) {
    Matcher matcher = CONTAINER.matcher(group);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    String runtime = matcher.group(1);
    return runtime != null && runtime.endsWith("conmon")
        ? Optional.empty()
        : Optional.of(new ContainerId(matcher.group(2)));
  }

  private record Place(PodUid pod, @Nullable ContainerId container) {}
}
