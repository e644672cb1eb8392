// SPDX-License-Identifier: Apache-2.0
import { equal, test } from './harness.js';
import { parseAddress } from '../../../main/resources/io/gpupool/rest/page/js/address.js';

const NAMES = ['pool', 'leases', 'queue'];

test('parseAddress: a view, and what is open in it', () => {
  equal(parseAddress('#/leases', NAMES), { name: 'leases', id: '' });
  equal(parseAddress('#/leases/L1', NAMES), { name: 'leases', id: 'L1' });
  equal(parseAddress('#leases/a%2Fb', NAMES), { name: 'leases', id: 'a/b' });
});

test('parseAddress: no address is the first view', () => {
  equal(parseAddress('', NAMES), { name: 'pool', id: '' });
  equal(parseAddress('#', NAMES), { name: 'pool', id: '' });
  equal(parseAddress('#/', NAMES), { name: 'pool', id: '' });
});

test('parseAddress: an unknown view is the first view', () => {
  equal(parseAddress('#/nothing', NAMES).name, 'pool');
  equal(parseAddress('#/toString', NAMES).name, 'pool');
});

test('parseAddress: a broken escape is taken as it is', () => {
  equal(parseAddress('#/leases/50%', NAMES), { name: 'leases', id: '50%' });
});
