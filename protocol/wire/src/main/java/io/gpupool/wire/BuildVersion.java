// SPDX-License-Identifier: Apache-2.0
package io.gpupool.wire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The version of this build of gpupool. */
public final class BuildVersion {
  public static final String TEXT = read();

  private BuildVersion() {}

  private static String read() {
    Properties properties = new Properties();
    try (InputStream in = BuildVersion.class.getResourceAsStream("build.properties")) {
      properties.load(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties.getProperty("version");
  }
}
