// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * How long all tests wait for what is to happen, where they do not say it: several pools and
 * controllers share the processors of a small machine.
 */
public final class Patience implements BeforeAllCallback {
  @Override
  public void beforeAll(ExtensionContext context) {
    Awaitility.setDefaultTimeout(Duration.ofSeconds(30));
  }
}
