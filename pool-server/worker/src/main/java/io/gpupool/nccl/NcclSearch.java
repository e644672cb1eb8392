// SPDX-License-Identifier: Apache-2.0
package io.gpupool.nccl;

import io.gpupool.worker.os.Posix;
import io.gpupool.worker.os.SharedLibrary;
import java.io.IOException;
import java.lang.foreign.SymbolLookup;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A search for {@code libnccl.so.2}: where the operator says, or otherwise for the newest one in
 * the places of the dynamic linker, of the CUDA toolkit and of pip.
 */
public final class NcclSearch {
  /** The operator's word for none. */
  public static final String OFF = "off";

  /** The operator's word for the newest one. */
  public static final String NEWEST = "newest";

  /** The server's word for none, since it has found none that can be used. */
  public static final String NONE = "none";

  /** The first version with {@code ncclCommSplit}. */
  static final int LEAST_VERSION = 21_800;

  /** Versions up to 2.8 are counted in thousands, such as 2804. */
  private static final int TEN_THOUSANDS = 10_000;

  private static final String LIBRARY = "libnccl.so.2";
  private static final String IN_PACKAGES = "nvidia/nccl/lib/" + LIBRARY;
  private static final List<String> TOOLKIT =
      List.of("/usr/local/cuda/lib64/" + LIBRARY, "/usr/local/cuda/lib/" + LIBRARY);
  private static final List<String> PYTHONS = List.of("/usr/local/lib", "/usr/lib");
  private static final List<String> PACKAGES = List.of("site-packages", "dist-packages");

  /*
   * Connections of collectives are made as a communicator begins, when its own thread may wait for
   * the other ranks, and not by the first call. Memory of another GPU of the process is reached by
   * copies of NCCL's own alone, because sessions have blocks that peers do not see. Workers may be
   * users of their own, who cannot open each other's files of shared memory.
   */
  private static final Map<String, String> ENVIRONMENT =
      Map.of("NCCL_RUNTIME_CONNECT", "0", "NCCL_P2P_DIRECT_DISABLE", "1", "NCCL_SHM_DISABLE", "1");

  private NcclSearch() {}

  /**
   * NCCL as it was found.
   *
   * @param version as {@code ncclGetVersion} says it: 22703 for 2.27.3
   */
  public record Found(String path, int version, SymbolLookup library) {
    /** Returns its functions. */
    public LibNccl functions() {
      return new LibNccl(library);
    }
  }

  /** Returns whether one may be at a place: a path or a word. */
  public static boolean isPlace(String place) {
    return !place.equals(OFF) && !place.equals(NONE);
  }

  /**
   * Loads it, with the environment that workers need where the operator has not said otherwise.
   *
   * @param place a path, {@link #NEWEST}, {@link #OFF} or {@link #NONE}
   * @throws NcclException if there is none that can be used; says what to do
   */
  public static Found load(String place) throws NcclException {
    if (place.equals(OFF)) {
      throw new NcclException(
          "the server was started with --libnccl off, so it carries out no calls of NCCL");
    }
    if (place.equals(NONE)) {
      throw new NcclException(
          "the server has found no NCCL that it can use, and its log says why: install NVIDIA's "
              + text(LEAST_VERSION)
              + " or newer there, or name it with --libnccl");
    }
    ENVIRONMENT.forEach((name, value) -> {
      if (System.getenv(name) == null) {
        Posix.setEnvironment(name, value);
      }
    });
    return usable(place.equals(NEWEST) ? newest(places()) : open(place));
  }

  private static Found open(String path) throws NcclException {
    try {
      return found(path);
    } catch (IOException e) {
      throw new NcclException("NVIDIA's NCCL cannot be loaded at the server: " + e.getMessage());
    }
  }

  private static Found found(String path) throws IOException {
    SymbolLookup library = SharedLibrary.open(path);
    return new Found(path, LibNccl.version(library), library);
  }

  private static Found usable(Found found) throws NcclException {
    if (found.version() < LEAST_VERSION) {
      throw new NcclException(
          found.path()
              + " of the server is NCCL "
              + text(found.version())
              + "; gpupool needs at least "
              + text(LEAST_VERSION)
              + ": install a newer one there, or name one with --libnccl");
    }
    return found;
  }

  /** Returns the newest of those that can be loaded. */
  static Found newest(List<String> places) throws NcclException {
    Found best = null;
    for (String place : places) {
      Found one = orNull(place);
      best = one != null && (best == null || one.version() > best.version()) ? one : best;
    }
    if (best == null) {
      throw new NcclException(
          "the server has no "
              + LIBRARY
              + ": install NVIDIA's NCCL there, or name it with --libnccl");
    }
    return best;
  }

  private static @Nullable Found orNull(String place) {
    try {
      return found(place);
    } catch (IOException e) {
      return null;
    }
  }

  /** Returns where it may be: a name for the dynamic linker, and paths of files that are there. */
  private static List<String> places() {
    List<String> places = new ArrayList<>(List.of(LIBRARY));
    TOOLKIT.stream().filter(path -> Files.exists(Path.of(path))).forEach(places::add);
    for (String folder : PYTHONS) {
      pythons(Path.of(folder))
          .forEach(python ->
              PACKAGES.stream()
                  .map(packages -> python.resolve(packages).resolve(IN_PACKAGES))
                  .filter(Files::exists)
                  .forEach(path -> places.add(path.toString())));
    }
    return places;
  }

  private static List<Path> pythons(Path folder) {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> pythons = Files.newDirectoryStream(folder, "python3*")) {
      pythons.forEach(found::add);
    } catch (IOException | DirectoryIteratorException e) {
      // A folder that is not there, or that this process may not look into, has none.
    }
    return found;
  }

  /** Returns a version as people write it. */
  public static String text(int version) {
    int major = version < TEN_THOUSANDS ? version / 1000 : version / TEN_THOUSANDS;
    int minor = version < TEN_THOUSANDS ? version / 100 % 10 : version / 100 % 100;
    return major + "." + minor + "." + version % 100;
  }
}
