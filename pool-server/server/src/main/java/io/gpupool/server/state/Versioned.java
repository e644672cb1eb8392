// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

/** A record and the revision of the commit that wrote it. */
public record Versioned<T>(T value, long revision) {}
