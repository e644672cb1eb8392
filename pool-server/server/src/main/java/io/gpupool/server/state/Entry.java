// SPDX-License-Identifier: Apache-2.0
package io.gpupool.server.state;

import com.google.protobuf.ByteString;

/**
 * A key and its value.
 *
 * @param revision of the commit that wrote it
 * @param bound whether it is deleted when the server that wrote it dies
 */
public record Entry(String key, ByteString value, long revision, boolean bound) {}
