// SPDX-License-Identifier: Apache-2.0
/** Parts of HTTP: responses, problems, entity tags, headers. */
package io.gpupool.rest.http;
