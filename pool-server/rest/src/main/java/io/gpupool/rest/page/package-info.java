// SPDX-License-Identifier: Apache-2.0

/** The web page of a pool: files that a browser runs, which ask the REST interface for all else. */
package io.gpupool.rest.page;
