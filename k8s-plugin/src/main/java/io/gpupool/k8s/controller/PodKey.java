// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.controller;

/** Which pod: its UID, which no other pod ever has, and where it is found. */
record PodKey(String uid, String namespace, String name) {
  @Override
  public String toString() {
    return namespace + "/" + name;
  }
}
