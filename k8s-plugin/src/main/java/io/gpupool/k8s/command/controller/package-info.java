// SPDX-License-Identifier: Apache-2.0
/** The process of the controller: the webhook of every replica and the tasks of the leader. */
@NullMarked
package io.gpupool.k8s.command.controller;

import org.jspecify.annotations.NullMarked;
