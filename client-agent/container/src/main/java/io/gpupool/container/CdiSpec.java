// SPDX-License-Identifier: Apache-2.0
package io.gpupool.container;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A file of the Container Device Interface: devices by name, and what the engine that reads it
 * gives a container that is to have one of them.
 *
 * @param kind VENDOR/CLASS of the devices
 */
public record CdiSpec(String kind, List<Device> devices) {
  /** The kind of the device that any container may have. */
  public static final String KIND = "gpupool.io/gpu";

  /** The name of the one device of that kind. */
  public static final String SHARED = "shared";

  /** The file of that device, in any of the folders where engines look. */
  public static final String FILE = "gpupool.io-gpu.json";

  // The oldest that has what is needed: engines pass over files of versions later than they know,
  // as Podman 4 does from 0.6.0 on.
  private static final String VERSION = "0.3.0";
  private static final Pattern NAME = Pattern.compile("[A-Za-z]([A-Za-z0-9_.:-]*[A-Za-z0-9])?");
  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  public CdiSpec {
    devices = List.copyOf(devices);
  }

  /** A device, and what a container gets with it. */
  public record Device(
      String name, List<ContainerWiring.Mount> mounts, Map<String, String> environment) {
    /** Throws {@link IllegalArgumentException} for a name that engines would refuse. */
    public Device {
      if (!NAME.matcher(name).matches()) {
        throw new IllegalArgumentException("'" + name + "' is no name of a device");
      }
      mounts = List.copyOf(mounts);
    }
  }

  /** The device that any container may have: its programs ask the agent for what they want. */
  public static CdiSpec shared(ContainerWiring wiring) {
    return of(new Device(SHARED, wiring.mounts(), wiring.environment()));
  }

  /** One device of that kind. */
  public static CdiSpec of(Device device) {
    return new CdiSpec(KIND, List.of(device));
  }

  /** The names by which engines are asked for the devices. */
  public List<String> qualifiedNames() {
    return devices.stream().map(device -> kind + "=" + device.name()).toList();
  }

  /** The file's text. */
  public String json() {
    JsonObject spec = new JsonObject();
    spec.addProperty("cdiVersion", VERSION);
    spec.addProperty("kind", kind);
    JsonArray list = new JsonArray();
    devices.forEach(device -> list.add(json(device)));
    spec.add("devices", list);
    return GSON.toJson(spec) + "\n";
  }

  private static JsonObject json(Device device) {
    JsonArray environment = new JsonArray();
    device.environment().forEach((name, value) -> environment.add(name + "=" + value));
    JsonArray mounts = new JsonArray();
    device.mounts().forEach(mount -> mounts.add(json(mount)));
    JsonObject edits = new JsonObject();
    edits.add("env", environment);
    edits.add("mounts", mounts);
    JsonObject json = new JsonObject();
    json.addProperty("name", device.name());
    json.add("containerEdits", edits);
    return json;
  }

  private static JsonObject json(ContainerWiring.Mount mount) {
    JsonArray options = new JsonArray();
    List.of("ro", "nosuid", "nodev", "bind").forEach(options::add);
    JsonObject json = new JsonObject();
    json.addProperty("hostPath", mount.host());
    json.addProperty("containerPath", mount.container());
    json.add("options", options);
    return json;
  }

  /** Writes the file, in place of one that is there: an engine reads the old or the new one. */
  public void write(Path file) throws IOException {
    Path target = file.toAbsolutePath();
    Files.createDirectories(target.getParent());
    // Engines look at names that end with .json and .yaml only.
    Path temporary = Files.createTempFile(target.getParent(), ".gpupool-", ".new");
    try {
      Files.writeString(temporary, json());
      Files.setPosixFilePermissions(temporary, PosixFilePermissions.fromString("rw-r--r--"));
      Files.move(
          temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }
}
