// SPDX-License-Identifier: Apache-2.0
/** What has happened on a server since its start, counted. */
@NullMarked
package io.gpupool.server.metrics;

import org.jspecify.annotations.NullMarked;
