// SPDX-License-Identifier: Apache-2.0
/** What has happened on a server since its start, counted. */
package io.gpupool.server.metrics;
