// SPDX-License-Identifier: Apache-2.0
/** The state of a pool: records with revisions, in memory and in a journal. */
@NullMarked
package io.gpupool.server.state;

import org.jspecify.annotations.NullMarked;
