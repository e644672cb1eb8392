// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller.pod;

/** The identity of a pod: its UID, which no other pod ever has, and its namespace and name. */
public record PodKey(String uid, String namespace, String name) {
  @Override
  public String toString() {
    return namespace + "/" + name;
  }
}
