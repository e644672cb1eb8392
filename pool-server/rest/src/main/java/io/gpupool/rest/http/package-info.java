// SPDX-License-Identifier: Apache-2.0
/** Parts of HTTP: responses, problems, entity tags, headers. */
@NullMarked
package io.gpupool.rest.http;

import org.jspecify.annotations.NullMarked;
