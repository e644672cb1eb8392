// SPDX-License-Identifier: Apache-2.0

/** Requests over HTTP as the OpenAPI document has them, and as it does not. */
package io.gpupool.e2e.rest;
