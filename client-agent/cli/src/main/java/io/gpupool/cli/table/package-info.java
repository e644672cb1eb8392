// SPDX-License-Identifier: Apache-2.0
/** Tables of the pool's messages, with the columns that their fields declare. */
@NullMarked
package io.gpupool.cli.table;

import org.jspecify.annotations.NullMarked;
