// SPDX-License-Identifier: Apache-2.0
// Linking at run time: the worker gathers the parts; the result lies here until the state is destroyed.
#pragma once

void linkers_reset(void);
