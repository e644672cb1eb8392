// SPDX-License-Identifier: Apache-2.0

/** The web page of a pool: files that a browser runs, which ask the REST interface for all else. */
@NullMarked
package io.gpupool.rest.page;

import org.jspecify.annotations.NullMarked;
