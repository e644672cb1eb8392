// SPDX-License-Identifier: Apache-2.0
/** Rejections of requests, with their reasons. */
package io.gpupool.server.rejection;
