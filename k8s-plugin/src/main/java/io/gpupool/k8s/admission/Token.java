// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.admission;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Optional;

/** The token by which the pool knows a pod: a projected volume and its mount in containers. */
final class Token {
  static final String VOLUME = "gpupool-token";
  static final String MOUNT_PATH = "/var/run/secrets/gpupool.io";
  private static final String AUDIENCE = "gpupool.io";
  private static final String PATH = "token";
  private static final int SECONDS = 3600;

  /** Kubernetes' own default, written out so that Kubernetes adds nothing to the volume. */
  private static final int MODE = 0644;

  private Token() {}

  static void addVolume(ObjectNode spec) throws DeniedException {
    ArrayNode volumes = Trees.list(spec, "volumes");
    Optional<JsonNode> there = Trees.named(volumes, VOLUME);
    if (there.isEmpty()) {
      volumes.add(volume());
    } else if (!there.get().path("projected").path("sources").equals(sources())) {
      throw DeniedException.denied(
          "The pod has a volume "
              + VOLUME
              + " of its own, a name that gpupool needs for its token; give it another.");
    }
  }

  static void addMount(ObjectNode container) throws DeniedException {
    ArrayNode mounts = Trees.list(container, "volumeMounts");
    for (JsonNode mount : mounts) {
      String path = mount.path("mountPath").asText("").replaceAll("/+$", "");
      if (!path.equals(MOUNT_PATH)) {
        continue;
      }
      if (Trees.name(mount).equals(VOLUME) && mount.path("readOnly").asBoolean()) {
        return;
      }
      throw DeniedException.denied(
          "Container "
              + Trees.name(container)
              + " mounts "
              + Trees.name(mount)
              + " at "
              + MOUNT_PATH
              + ", where gpupool's token has to be; mount it elsewhere.");
    }
    mounts.addObject().put("name", VOLUME).put("mountPath", MOUNT_PATH).put("readOnly", true);
  }

  private static ObjectNode volume() {
    ObjectNode volume = JsonNodeFactory.instance.objectNode().put("name", VOLUME);
    volume.putObject("projected").put("defaultMode", MODE).set("sources", sources());
    return volume;
  }

  private static ArrayNode sources() {
    ArrayNode sources = JsonNodeFactory.instance.arrayNode();
    sources
        .addObject()
        .putObject("serviceAccountToken")
        .put("audience", AUDIENCE)
        .put("expirationSeconds", SECONDS)
        .put("path", PATH);
    return sources;
  }
}
