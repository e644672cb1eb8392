// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import { ownerClass } from '../../../main/resources/io/gpupool/rest/page/js/owners.js';

test('ownerClass: a tenant keeps its colour, and eight tenants have eight', () => {
  const first = ownerClass('tenant-0');
  const classes = [...Array(8).keys()].map((i) => ownerClass(`tenant-${i}`));
  equal(new Set(classes).size, 8);
  equal(ownerClass('tenant-0'), first);
});

test('ownerClass: the ninth tenant shares the colour of the first', () => {
  equal(ownerClass('tenant-8'), ownerClass('tenant-0'));
});
