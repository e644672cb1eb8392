// SPDX-License-Identifier: Apache-2.0
/** The forms in which programs hand code to the driver: PTX text, fat binaries, ELF files. */
@NullMarked
package io.gpupool.soft.image;

import org.jspecify.annotations.NullMarked;
