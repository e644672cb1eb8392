// SPDX-License-Identifier: Apache-2.0
package io.gpupool.k8s.request;

/**
 * The gang of a pod: pods of one namespace that get their leases together or wait.
 *
 * @param name unique in its namespace
 * @param size the number of pods
 */
public record PodGang(String name, int size) {
  /** The most pods of a gang; the pool allows fewer if they have several GPUs each. */
  static final int MAX_SIZE = 24;

  static final int MAX_NAME_LENGTH = 63;
}
